/* SPDX-License-Identifier: MIT */
#include "cmd/net/api.h"

#include "lib/recording/workplace/function_code.h"
#include "lib/recording/workplace/lookup.h"
#include "cmd/run/profile_file.h"
#include "lib/recording/workplace/naming.h"
#include "cmd/text/record_summary.h"
#include "lib/base/open_file.h"
#include "lib/base/outfile.h"
#include "lib/code/binary/binary.h"
#include "lib/fleet/fleet_url.h"
#include "lib/format/firefox/patch/patch.h"
#include "lib/format/firefox/read/firefox_read.h"
#include "lib/model/tables/modules.h"
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
	return vec_find(&p->funcs.rows, func, missing_file(p, func));
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

static void served_file_close(struct served_file *f)
{
	if (f->fd > 0)
		close(f->fd);
	*f = (struct served_file){0};
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

/*
 * Opens a file, or converts it to a format that front-ends read. Two files become both sides and
 * their difference; -EXDEV if the difference is undefined. Sets `text` to the uncompressed bytes,
 * which the caller frees.
 */
static int served_file_open(struct served_file *f, const char *const *paths, size_t count,
			    const struct output_options *options, char **text, size_t *size,
			    struct error *err)
{
	struct original from = {.paths = paths, .options = options};

	return count == 1 ? read_bytes(f, &from, text, size, err)
			  : keep_written(f, &from, write_difference, text, size, err);
}

/*
 * Adds missing sources of scripts to the profile, which was read from `text`. Leaves the file
 * unchanged on failure.
 */
static void served_file_add_scripts(struct served_file *f, const struct profile *p,
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

/* Descriptors reserved for other uses than modules. */
#define RESERVED_FILES 512
#define SOURCE_MAX ((size_t)16 << 20)
#define MISSING_MAX 4

static void find_files(struct viewed_profile *v)
{
	const struct lookup lookup = {
		.profile = v->profile,
		.dirs = v->options->debug_dirs.items,
	};

	v->files = lookup_files(&lookup, RESERVED_FILES);
	v->kernel_release = v->profile->meta.os ? lookup_kernel_release(v->profile->meta.os) : NULL;
	v->was_fetched = xcalloc(v->profile->modules.rows.count + 1, sizeof(*v->was_fetched));
}

int viewed_profile_open(struct viewed_profile *v, const char *const *paths, size_t count,
			const struct output_options *options, struct error *err)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	int ret;

	*v = (struct viewed_profile){.path = paths[0],
				     .options = options,
				     .lock = PTHREAD_MUTEX_INITIALIZER,
				     .fetching = PTHREAD_MUTEX_INITIALIZER};
	for (size_t i = 0; i < count; i++)
		readers_add(&v->owners, profile_file_owner(paths[i]));
	ret = served_file_open(&v->served, paths, count, options, &text, &size, err);
	if (ret)
		return ret;
	ret = format_firefox.read(&v->profile, text, size, NULL, err);
	if (ret)
		return error_wrap(err, "%s", paths[0]);
	lib_ids_read(&v->libs, text, size);
	find_files(v);
	served_file_add_scripts(&v->served, v->profile, &v->owners, text, size);
	return 0;
}

void viewed_profile_close(struct viewed_profile *v)
{
	served_file_close(&v->served);
	if (v->profile)
		profile_free(v->profile);
	lib_ids_release(&v->libs);
	file_set_free(v->files);
	strings_release(&v->named);
	readers_release(&v->owners);
	free(v->kernel_release);
	free(v->was_fetched);
	*v = (struct viewed_profile){0};
}

module_id viewed_profile_find(const struct viewed_profile *v, const char *debug_name,
			      const char *breakpad_id)
{
	for (size_t i = 0; i < v->libs.rows.count && i < v->profile->modules.rows.count; i++) {
		const struct lib_id *row = &v->libs.rows.items[i];

		if (strcmp(row->debug_name, debug_name) == 0 &&
		    strcmp(row->breakpad_id, breakpad_id) == 0)
			return (module_id)i;
	}
	return NO_MODULE;
}

static bool is_fetched_later(const struct module *module)
{
	return module->file_key == UINT32_MAX && code_fetch_is_possible(module);
}

/* Queries servers, once per module. */
static void fetch(struct viewed_profile *v, module_id module)
{
	struct module *row = &v->profile->modules.rows.items[module];
	int fd = -1;

	pthread_mutex_lock(&v->fetching);
	if (!v->was_fetched[module] && is_fetched_later(row))
		fd = code_fetch(row, NULL);
	v->was_fetched[module] = true;
	if (fd >= 0) {
		pthread_mutex_lock(&v->lock);
		file_set_add(v->files, module, fd);
		/* Only a list of names exists for the kernel, which needs little memory. */
		if (module_is_kernel(row))
			v->has_kernel_code = true;
		else
			row->file_key = module;
		pthread_mutex_unlock(&v->lock);
	}
	pthread_mutex_unlock(&v->fetching);
}

/* Fetches the module's file from a server if it is missing here. Each module is tried once. */
static void viewed_profile_fetch(struct viewed_profile *v, module_id module)
{
	if (!module_is_kernel(&v->profile->modules.rows.items[module]))
		fetch(v, module);
}

struct module viewed_profile_code_module(struct viewed_profile *v, module_id module)
{
	struct module copy;

	fetch(v, module);
	copy = v->profile->modules.rows.items[module];
	if (v->has_kernel_code && copy.kind == PROFILE_MODULE_KERNEL) {
		copy.kind = PROFILE_MODULE_FILE;
		copy.file_key = module;
	}
	return copy;
}

/* Makes a profile of only these addresses, which can be named like any other. */
static struct profile *address_profile(const struct viewed_profile *v, module_id id,
				       const uint64_t *rvas, size_t count)
{
	struct profile *p = profile_new();
	struct profile_thread thread = {.pid = 1, .tid = 1, .is_main = true};
	bool is_kernel = module_is_kernel(&v->profile->modules.rows.items[id]);

	vec_for_each(&v->profile->modules.rows, const struct module *, from) {
		const char *path = strings_get(&v->profile->strings, from->path);
		const char *name = strings_get(&v->profile->strings, from->name);
		module_id copy = modules_add(&p->modules, from->kind,
					     strings_intern(&p->strings, path),
					     strings_intern(&p->strings, name));
		struct module *module = modules_get(&p->modules, copy);

		module->file_key = from->file_key;
		memcpy(module->build_id, from->build_id, sizeof(module->build_id));
		module->build_id_size = from->build_id_size;
		module->machine = from->machine;
		module->base = from->base;
	}
	thread.name = thread.process_name = strings_intern(&p->strings, "addresses");
	thread.process_label = thread.arguments = NO_STRING;
	threads_add(&p->threads, &thread);
	for (size_t i = 0; i < count; i++) {
		const struct frame frame = {
			.module = id,
			.func = NO_FUNC,
			.offset = rvas[i],
			.symbol = NO_SYMBOL,
			.kind = is_kernel ? PROFILE_FRAME_KERNEL : PROFILE_FRAME_NATIVE,
		};
		const struct sample sample = {
			.stack = stacks_intern(&p->stacks, NO_STACK,
					       frames_intern(&p->frames, &frame)),
			.weight = 1,
		};

		samples_add(&threads_get(&p->threads, 0)->samples, &sample);
	}
	return p;
}

static void take_place(const struct profile *p, stack_id stack, struct viewed_place *place)
{
	for (; stack != NO_STACK; stack = p->stacks.rows.items[stack].parent) {
		const struct frame *frame = frames_get(&p->frames,
						       p->stacks.rows.items[stack].frame);
		const struct func *func = &p->funcs.rows.items[frame->func];
		struct viewed_level level = {.line = frame->line};

		if (!func->is_named && frame->symbol == NO_SYMBOL)
			continue;
		level.func = xstrdup(strings_get(&p->strings, func->name));
		if (func->file != NO_SOURCE_FILE)
			level.file = xstrdup(strings_get(
				&p->strings, p->source_files.rows.items[func->file].path));
		vec_push(&place->levels, level);
		if (frame->symbol != NO_SYMBOL) {
			const struct symbol *symbol = &p->symbols.rows.items[frame->symbol];

			place->has_start = true;
			place->start = symbol->rva;
			place->size = symbol->size;
		}
	}
}

void viewed_profile_name(struct viewed_profile *v, module_id module, const uint64_t *rvas,
			 size_t count, struct viewed_place *places)
{
	struct profile *p;
	const struct naming naming = {
		.files = v->files,
		.dirs = v->options->debug_dirs.items,
		.fetcher = -1,
		.kernel_release = v->kernel_release ? v->kernel_release : "",
	};

	viewed_profile_fetch(v, module);
	/* Serialize access: files are closed and reopened on demand. */
	pthread_mutex_lock(&v->lock);
	p = address_profile(v, module, rvas, count);
	naming_run(p, &naming);
	vec_for_each(&p->source_files.rows, const struct source_file *, file)
		strings_intern(&v->named, strings_get(&p->strings, file->path));
	pthread_mutex_unlock(&v->lock);
	samples_for_each(&p->threads.rows.items[0].samples, sample) {
		*places = (struct viewed_place){0};
		take_place(p, sample->stack, places++);
	}
	profile_free(p);
}

void viewed_places_release(struct viewed_place *places, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		vec_for_each(&places[i].levels, struct viewed_level *, level) {
			free(level->func);
			free(level->file);
		}
		vec_release(&places[i].levels);
	}
}

static bool is_named(struct viewed_profile *v, const char *path)
{
	bool found;

	pthread_mutex_lock(&v->lock);
	found = strings_find(&v->named, path, strlen(path)) != NO_STRING;
	pthread_mutex_unlock(&v->lock);
	return found;
}

static int fetch_source(const struct module *module, const char *path)
{
	char id[2 * sizeof(module->build_id) + 1];
	const struct debug_request request = {
		.kind = DEBUG_FETCH_SOURCE,
		.build_id = id,
		.source = path,
	};

	if (!module->build_id_size)
		return -1;
	build_id_to_text(module->build_id, module->build_id_size, id);
	return naming_fetch(&request, NULL);
}

/*
 * Suggests how to get the sources of a distribution's file, which was built in a folder that exists
 * nowhere else.
 */
static void fail_source(const char *module_path, const char *path, enum source_outcome outcome,
			struct error *err)
{
	_cleanup_free_ char *package = outcome == SOURCE_MISSING
					       ? debug_package_sources("", module_path)
					       : NULL;

	error_text(err, -EACCES, "%s: %s", path, package ? package : source_outcome_text(outcome));
}

/* Reads a source file, downloading it if missing. `module`: NULL for scripts, which have none. */
static char *read_source(const struct viewed_profile *v, const struct module *module,
			 const char *path, size_t *size, struct error *err)
{
	struct source_text source = {0};
	enum source_outcome outcome = source_text_read(&v->owners, path, SOURCE_MAX, &source);
	_cleanup_close_ int fetched = -1;

	if (outcome == SOURCE_MISSING && *path == '/' && module)
		fetched = fetch_source(module, path);
	if (fetched >= 0) {
		source.text = text_read_fd(fetched, SOURCE_MAX, &source.size);
		outcome = source.text && !memchr(source.text, '\0', source.size) ? SOURCE_TAKEN
										 : SOURCE_NO_CODE;
	}
	*size = source.size;
	if (outcome == SOURCE_TAKEN)
		return source.text;
	if (fetched >= 0)
		free(source.text);
	fail_source(module ? strings_get(&v->profile->strings, module->path) : "", path, outcome,
		    err);
	return NULL;
}

char *viewed_profile_source(struct viewed_profile *v, module_id module, const char *path,
			    size_t *size, struct error *err)
{
	const struct profile *p = v->profile;
	bool found = false;

	vec_for_each(&p->source_files.rows, const struct source_file *, file) {
		if (strcmp(strings_get(&p->strings, file->path), path) != 0)
			continue;
		found = true;
		if (file->text) {
			*size = file->size;
			return xstrndup(file->text, file->size);
		}
	}
	if (!found && !is_named(v, path)) {
		error_text(err, -EACCES, "%s: no such file in the profile", path);
		return NULL;
	}
	return read_source(v, module == NO_MODULE ? NULL : &p->modules.rows.items[module], path,
			   size, err);
}

void viewed_profile_missing(const struct viewed_profile *v, struct strbuf *text)
{
	const struct profile *p = v->profile;
	_cleanup_free_ bool *has_frames = xcalloc(p->modules.rows.count + 1, sizeof(*has_frames));
	size_t count = 0;

	vec_for_each(&p->frames.rows, const struct frame *, frame) {
		if (frame->module != NO_MODULE)
			has_frames[frame->module] = true;
	}
	for (size_t i = 0; i < p->modules.rows.count; i++) {
		const struct module *module = &p->modules.rows.items[i];

		if (!has_frames[i] || module->file_key != UINT32_MAX || module_is_kernel(module) ||
		    is_fetched_later(module))
			continue;
		if (count++ < MISSING_MAX)
			strbuf_addf(text, "%s%s (%s)", text->size ? ", " : "",
				    strings_get(&p->strings, module->name),
				    symbol_reason_text(module->reason));
	}
	if (count > MISSING_MAX)
		strbuf_addf(text, " and %zu more", count - MISSING_MAX);
}
