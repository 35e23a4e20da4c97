/* SPDX-License-Identifier: MIT */
#include "cmd/net/served_file.h"

#include "cmd/run/sides.h"
#include "lib/base/open_file.h"
#include "lib/base/outfile.h"
#include "lib/fleet/fleet_url.h"
#include "lib/format/firefox/patch/patch.h"
#include "lib/format/firefox/read/firefox_read.h"
#include "lib/query/gate.h"
#include "symbolize/source_texts.h"

/*
 * Adds source files of scripts. Front-ends request only those of machine code, by address; others
 * must be in the profile.
 */

#define FILE_MAX ((uint64_t)4 << 20)
#define TOTAL_MAX ((uint64_t)64 << 20)

struct scripts {
	struct strings paths;
	const struct readers *owners;
	uint64_t left; /* number of bytes that may still be read */
};

/* Returns the file of a script's function if its text is missing; NULL otherwise. */
static const struct source_file *missing_file(const struct profile *p, const struct func *func)
{
	const struct source_file *file;

	if (func->module != NO_MODULE || func->file == NO_SOURCE_FILE)
		return NULL;
	file = &p->source_files.rows.items[func->file];
	return file->text ? NULL : file;
}

/* True if functions of scripts lack their source files. */
static bool script_sources_are_missing(const struct profile *p)
{
	vec_for_each(&p->funcs.rows, const struct func *, func) {
		if (missing_file(p, func))
			return true;
	}
	return false;
}

static char *find_text(void *ctx, const char *path, size_t *size)
{
	struct scripts *s = ctx;
	uint64_t max = s->left < FILE_MAX ? s->left : FILE_MAX;
	struct source_text source = {0};

	if (strings_find(&s->paths, path, strlen(path)) == NO_STRING ||
	    source_text_read(s->owners, path, max, &source) != SOURCE_TAKEN)
		return NULL;
	s->left -= source.size;
	*size = source.size;
	return source.text;
}

/*
 * Writes the profile in `text` with those of its scripts that exist here and that
 * source_text_read() accepts for the owners. Fails like contents_write().
 */
static int script_sources_write(const struct profile *p, const struct readers *owners,
				const char *text, size_t size, struct outfile *out,
				struct error *err)
{
	struct scripts scripts = {.owners = owners, .left = TOTAL_MAX};
	int ret;

	vec_for_each(&p->funcs.rows, const struct func *, func) {
		const struct source_file *file = missing_file(p, func);

		if (file)
			strings_intern(&scripts.paths, strings_get(&p->strings, file->path));
	}
	ret = contents_write(text, size, find_text, &scripts, out, err);
	strings_release(&scripts.paths);
	return ret;
}

/* Keeps the original file if its format can be served. */
static int keep_file(struct served_file *f, int fd)
{
	unsigned char magic[2] = {0};
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return -EINVAL;
	if (pread(fd, magic, sizeof(magic), 0) < 0)
		return -errno;
	f->fd = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	f->size = (uint64_t)st.st_size;
	f->is_gzip = magic[0] == 0x1f && magic[1] == 0x8b;
	return f->fd < 0 ? -errno : 0;
}

/* A profile to be written for front-ends. */
struct original {
	const char *const *paths;
	const struct output_options *options;
	const struct profile *profile; /* profile read from `text` */
	const struct readers *owners;
	/* Text of the profile if front-ends can read its format; otherwise NULL. */
	const char *text;
	size_t size;
};

/* Writes a profile that is in another format or from a capture. */
static int write_copy(void *ctx, struct outfile *out, struct error *err)
{
	const struct original *from = ctx;
	const struct export_options how = {.all_threads = true};
	struct profile_file file;
	int ret = profile_file_load(&file, from->paths[0], from->options, err);

	if (!ret)
		ret = format_firefox.write(file.profile, &how, out, NULL, err);
	profile_file_release(&file);
	return ret;
}

/* Writes two profiles and their difference. */
static int write_sides(const struct original *from, bool is_page, struct outfile *out,
		       struct error *err)
{
	const char *const *paths = from->paths;
	const struct query_filter filter = QUERY_FILTER_ALL;
	_cleanup_(strbuf_release) struct strbuf text = {0}, json = {0};
	struct sides_output output = {.format = FORMAT_DEFAULT};
	struct comparable comparable = {0};
	struct sides sides = {0};
	int ret = 0;

	for (int side = 0; !ret && side < SIDE_COUNT; side++) {
		const char *slash = strrchr(paths[side], '/');
		size_t killed = 0;

		sides.names[side] = slash ? slash + 1 : paths[side];
		ret = sides_load(&sides, paths[side], from->options, &sides.runs[side], &killed,
				 err);
	}
	if (!ret)
		comparable_check(&comparable, &sides.runs[SIDE_A], &sides.runs[SIDE_B]);
	if (comparable.refusals.count)
		ret = error_text(err, -EXDEV, "%s", comparable.refusals.items[0]);
	if (!ret && is_page) {
		ret = sides_compare(&sides, &comparable, &text, &json, err);
		output = (struct sides_output){&format_html, strbuf_text(&text), strbuf_text(&json),
					       true};
	}
	if (!ret)
		ret = sides_write_difference(&sides, &filter, &output, out, err);
	comparable_release(&comparable);
	sides_release(&sides);
	return ret;
}

static int write_difference(void *ctx, struct outfile *out, struct error *err)
{
	return write_sides(ctx, false, out, err);
}

static int write_page(void *ctx, struct outfile *out, struct error *err)
{
	return write_sides(ctx, true, out, err);
}

int served_page_of_sides(const char *const *paths, const struct output_options *options,
			 uint64_t *size, struct error *err)
{
	struct original from = {.paths = paths, .options = options};

	return memory_file_write("the page", false, write_page, &from, size, err);
}

static int write_scripts(void *ctx, struct outfile *out, struct error *err)
{
	const struct original *from = ctx;

	return script_sources_write(from->profile, from->owners, from->text, from->size, out, err);
}

/* Writes into memory, and sets text to the result. */
static int keep_written(struct served_file *f, struct original *from, memory_file_writer *write,
			char **text, size_t *size, struct error *err)
{
	uint64_t bytes;
	int fd = memory_file_write("the profile", false, write, from, &bytes, err);

	if (fd < 0)
		return fd;
	f->fd = fd;
	f->size = *size = bytes;
	return memory_file_read(fd, "the profile", bytes, text, err);
}

/* Sets text and f->fd to a file in a format that front-ends read. */
static int read_bytes(struct served_file *f, struct original *from, char **text, size_t *size,
		      struct error *err)
{
	bool is_file = !fleet_url_is_one(from->paths[0]);
	struct profile_file file = {0};
	_cleanup_close_ int fd = is_file ? profile_file_open(&file, from->paths[0], err) : -1;

	if (!is_file)
		return keep_written(f, from, write_copy, text, size, err);
	if (fd < 0)
		return fd;
	if (keep_file(f, fd) == 0 && profile_file_read(&file, fd, NULL) == 0 &&
	    file.format == &format_firefox && firefox_is_current(file.text, file.size)) {
		*text = steal(file.text);
		*size = file.size;
		profile_file_release(&file);
		return 0;
	}
	profile_file_release(&file);
	if (f->fd > 0)
		close(f->fd);
	f->fd = 0;
	f->is_gzip = false;
	return keep_written(f, from, write_copy, text, size, err);
}

int served_file_open(struct served_file *f, const char *const *paths, size_t count,
		     const struct output_options *options, char **text, size_t *size,
		     struct error *err)
{
	struct original from = {.paths = paths, .options = options};

	return count == 1 ? read_bytes(f, &from, text, size, err)
			  : keep_written(f, &from, write_difference, text, size, err);
}

void served_file_add_scripts(struct served_file *f, const struct profile *p,
			     const struct readers *owners, const char *text, size_t size)
{
	struct original from = {
		.profile = p,
		.owners = owners,
		.text = text,
		.size = size,
	};
	struct served_file written = {0};
	_cleanup_free_ char *copy = NULL;
	struct error err = {0};

	if (!script_sources_are_missing(p))
		return;
	if (keep_written(&written, &from, write_scripts, &copy, &size, &err)) {
		served_file_close(&written);
		return;
	}
	served_file_close(f);
	*f = written;
}

void served_file_close(struct served_file *f)
{
	if (f->fd > 0)
		close(f->fd);
	*f = (struct served_file){0};
}
