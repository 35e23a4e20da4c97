/* SPDX-License-Identifier: MIT */
#include "cmd/run/profile_file.h"

#include <sys/mman.h>

#include "cmd/command.h"
#include "cmd/options/output_options.h"
#include "cmd/run/fleet_engine.h"
#include "cmd/text/comparison_text.h"
#include "cmd/text/progress.h"
#include "lib/base/identity.h"
#include "lib/base/infile.h"
#include "lib/base/workers.h"
#include "lib/fleet/engine_kind.h"
#include "lib/fleet/fleet_read.h"
#include "lib/format/firefox/read/firefox_read.h"
#include "lib/model/tables/sample_store.h"
#include "lib/path/path_weights.h"
#include "lib/recording/recording.h"
#include "lib/recording/workplace/lookup.h"
#include "lib/stream/capture/capture_reader.h"
#include "symbolize/symbolize_profile.h"

/* Maximum size; browsers cannot load more. */
#define TEXT_MAX ((size_t)1 << 30)

void profile_file_release(struct profile_file *f)
{
	infile_release(f->text);
	if (f->recording)
		recording_release(f->recording);
	else if (f->profile)
		profile_free(f->profile);
	if (!threads_are_left())
		free(f->recording);
	*f = (struct profile_file){0};
}

int profile_file_open(struct profile_file *f, const char *path, struct error *err)
{
	bool is_stdin = strcmp(path, "-") == 0;
	int fd = is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
			  : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	int ret;

	f->label = is_stdin ? "standard input" : path;
	if (fd >= 0)
		return fd;
	ret = error_set(err, -errno, "cannot read %s", f->label);
	if (ret == -ENOENT && strcmp(path, PROFILE_PATH) == 0)
		error_hint(err, "name a file, or record one: prof record -- COMMAND");
	return ret;
}

static bool begins_json(const char *text)
{
	static const char blanks[] = "[ \t\r\n";
	const char *at = text + strspn(text, blanks + 1);

	/* "[section]" is not JSON. */
	if (*at == '[')
		return strchr("{}\"]-0123456789", at[strspn(at, blanks)]);
	return *at == '{' && strchr("\"}", at[1 + strspn(at + 1, blanks + 1)]);
}

static int unknown_format(const struct profile_file *f, struct error *err)
{
	const char *what = format_unread(f->text, f->size);

	if (!what && begins_json(f->text))
		what = "JSON of an unknown kind; prof-report(1) lists the formats that prof reads";
	if (capture_is_one(f->text, f->size))
		return error_text(err, -ESPIPE, "%s: a capture can only be read from a file",
				  f->label);
	return error_text(err, -EBADMSG, "%s: not a profile in a supported format%s%s", f->label,
			  what ? ", but " : "", what ? what : "");
}

/* The generic check of a format may have mistaken another format's file for its own. */
static int read_failed(const struct profile_file *f, struct error *err)
{
	bool is_own = format_of_text(f->text, f->size) == &format_html;

	return !is_own && format_unread(f->text, f->size) ? unknown_format(f, err)
							  : error_wrap(err, "%s", f->label);
}

static void say(const char *line)
{
	command_say("%s", line);
}

struct loading {
	struct progress_naming progress;
	const struct output_options *output; /* NULL: report nothing */
};

static enum workers_wish wish(void *ctx)
{
	const struct output_options *output = ((const struct loading *)ctx)->output;

	return output && output->finish_now && *output->finish_now ? WORKERS_HURRY : WORKERS_GO_ON;
}

static void begin_progress(void *ctx, struct naming *naming, struct sources_options *sources)
{
	struct loading *l = ctx;

	l->progress.wish = wish;
	l->progress.ctx = l;
	progress_naming_begin(&l->progress, !l->output || l->output->quiet, PROGRESS_AUTO, 0,
			      naming, sources);
}

int profile_file_load_records(struct recording *r, const struct source_kind *kind, int fd,
			      const char *label, const struct output_options *output,
			      struct error *err)
{
	struct loading loading = {.output = output};
	struct recording_options options = {
		.keeps_unpacked = !output || !output->no_cache,
		.say = say,
		.progress = begin_progress,
		.ctx = &loading,
	};
	int ret;

	if (output) {
		options.part.from_ns = output->from_ns;
		options.part.until_ns = output->until_ns;
		options.part.branches = output->branches;
		options.dirs = output->debug_dirs.items;
		options.no_symbols = output->no_symbols;
		options.no_limit = output->no_limit;
		options.sources = output->sources;
	}
	ret = recording_load(r, kind, fd, label, &options, err);
	progress_naming_end(&loading.progress);
	return ret;
}

static int load_records(struct profile_file *f, const struct source_kind *kind, int fd,
			const struct output_options *output, struct error *err)
{
	int ret;

	f->recording = xcalloc(1, sizeof(*f->recording));
	ret = profile_file_load_records(f->recording, kind, fd, f->label, output, err);
	f->profile = f->recording->profile;
	return ret;
}

int profile_file_keep_path(struct profile_file *f, bool as_event, struct error *err)
{
	if (path_weights_apply(f->profile, as_event))
		return 0;
	error_text(err, -ENODATA, "%s: has no critical path", f->label);
	error_hint(err, "record one with prof record --critical-path -- COMMAND");
	return -ENODATA;
}

struct reader profile_file_owner(const char *path)
{
	_cleanup_close_ int place = strcmp(path, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
							   : open(path, O_PATH | O_CLOEXEC);

	return lookup_reader(place);
}

/*
 * Reads a capture from memory, for input from a pipe or a compressed file. Returns -ENOENT if it is
 * not a capture.
 */
static int load_records_of_text(struct profile_file *f, const struct output_options *output,
				struct error *err)
{
	_cleanup_close_ int fd = memfd_create("records", MFD_CLOEXEC);
	const struct source_kind *kind;

	for (size_t done = 0; fd >= 0 && done < f->size;) {
		ssize_t size = write(fd, f->text + done, f->size - done);

		if (size < 0)
			return error_set(err, -errno, "%s", f->label);
		done += (size_t)size;
	}
	kind = fd < 0 ? NULL : source_kind_of(fd);
	return kind ? load_records(f, kind, fd, output, err) : -ENOENT;
}

/* Converts UTF-16, as written by Windows shells, to UTF-8. Leaves other texts unchanged. */
static void take_utf16(struct profile_file *f)
{
	const unsigned char *bytes = (const unsigned char *)f->text;
	struct strbuf text = {0};
	unsigned int low;

	if (f->size < 2 || (bytes[0] ^ bytes[1]) != 1 || (bytes[0] | bytes[1]) != 0xff)
		return;
	low = bytes[0] == 0xfe;
	for (size_t i = 2; i + 1 < f->size; i += 2) {
		uint32_t code = bytes[i + low] | (uint32_t)bytes[i + !low] << 8;
		uint32_t next = i + 3 < f->size
					? bytes[i + 2 + low] | (uint32_t)bytes[i + 2 + !low] << 8
					: 0;

		if (code >> 10 == 0xd800 >> 10 && next >> 10 == 0xdc00 >> 10) {
			code = 0x10000 + ((code & 0x3ff) << 10 | (next & 0x3ff));
			i += 2;
		}
		strbuf_add_utf8(&text, code);
	}
	infile_release(f->text);
	f->size = text.size;
	f->text = strbuf_take(&text);
}

/* Returns -ENOENT for unknown formats. */
static int find_format(struct profile_file *f)
{
	take_utf16(f);
	f->format = format_of_text(f->text, f->size);
	return f->format ? 0 : -ENOENT;
}

/* Reads a text of a known format. Returns -ENOENT for other formats. */
static int read_text(struct profile_file *f, int fd, struct error *err)
{
	int ret = infile_read(fd, f->label, TEXT_MAX, &f->text, &f->size, err);

	return ret ? ret : find_format(f);
}

/* Does the same for a text that is only read. */
static int map_text(struct profile_file *f, int fd, struct error *err)
{
	int ret = infile_map(fd, f->label, TEXT_MAX, &f->text, &f->size, err);

	return ret ? ret : find_format(f);
}

int profile_file_read(struct profile_file *f, int fd, struct error *err)
{
	int ret = read_text(f, fd, err);

	if (ret == -ENOENT)
		ret = unknown_format(f, err);
	if (ret)
		profile_file_release(f);
	return ret;
}

static int read_unnamed(struct profile_file *f, int fd, struct error *err)
{
	const struct output_options unnamed = {.no_symbols = true};
	const struct source_kind *kind = source_kind_of(fd);
	int ret = kind ? load_records(f, kind, fd, &unnamed, err) : read_text(f, fd, err);

	if (ret == -ENOENT)
		ret = load_records_of_text(f, &unnamed, err);
	if (ret == -ENOENT)
		return unknown_format(f, err);
	if (f->profile) {
		f->format = &format_firefox; /* format of the text to be written */
		infile_release(f->text);
		f->text = NULL;
	}
	return ret;
}

int profile_file_read_unnamed(struct profile_file *f, int fd, struct error *err)
{
	int ret = read_unnamed(f, fd, err);

	if (ret)
		profile_file_release(f);
	return ret;
}

/* Other tools' files may contain mangled names. */
static int read_profile(struct profile_file *f, struct error *err)
{
	int ret = f->format->read(&f->profile, f->text, f->size, &f->counts, err);

	if (!ret && f->format->has_linker_names)
		demangle_profile(f->profile);
	return ret;
}

int profile_file_upgrade(struct profile_file *f, struct error *err)
{
	const struct export_options how = {.all_threads = true};
	int ret = 0;

	if (f->text && f->format == &format_firefox && firefox_is_current(f->text, f->size))
		return 0;
	if (!f->format->read)
		return error_text(err, -EBADMSG, "%s: the format %s can only be written", f->label,
				  f->format->name);
	if (f->text)
		ret = read_profile(f, err);
	infile_release(f->text);
	f->text = NULL;
	if (!ret)
		ret = written_text(&format_firefox, f->profile, &how, NULL, &f->text, &f->size,
				   err);
	f->format = &format_firefox;
	return ret ? error_wrap(err, "%s", f->label) : 0;
}

/* Reads the profile that an engine has merged, packed or not. */
static int load_merged(struct profile_file *f, const struct engine *engine, struct error *err)
{
	_cleanup_close_ int fd = memfd_create("prof-merged", MFD_CLOEXEC);
	_cleanup_(strbuf_release) struct strbuf merged = {0};
	int ret = series_fetch(engine, &merged, err);

	if (ret)
		return ret;
	ret = fd < 0 ? -errno : write_at(fd, strbuf_text(&merged), merged.size, 0);
	if (ret)
		return error_set(err, ret, "cannot keep the answer in memory");
	ret = read_text(f, fd, err);
	if (ret == -ENOENT || (!ret && f->format != &format_pprof))
		return error_text(err, -EBADMSG, "%s did not answer with a profile", f->label);
	return ret ? ret : read_profile(f, err);
}

static int load_from_engine(struct profile_file *f, const char *address, struct error *err)
{
	struct fleet_engine e;
	int ret = fleet_engine_open_store(&e, address, true, err);

	f->label = "the engine";
	if (!ret && e.url.kind->query)
		ret = load_merged(f, &e.engine, err);
	else if (!ret)
		ret = fleet_read(&e.engine, &f->profile, err);
	fleet_engine_release(&e);
	return ret;
}

/* Reads a file piece by piece. Returns -ENOENT for formats that are read as a whole. */
static int load_pieces(struct profile_file *f, int fd, struct error *err)
{
	uint64_t size;
	int ret;

	f->format = format_of_file(fd, &size);
	if (!f->format)
		return -ENOENT;
	ret = f->format->read_file(&f->profile, fd, size, &f->counts, err);
	return ret ? error_wrap(err, "%s", f->label) : 0;
}

static int load(struct profile_file *f, const char *path, const struct output_options *output,
		struct error *err)
{
	_cleanup_close_ int fd = profile_file_open(f, path, err);
	const struct source_kind *kind = fd < 0 ? NULL : source_kind_of(fd);
	int ret;

	if (kind)
		return load_records(f, kind, fd, output, err);
	ret = fd < 0 ? fd : load_pieces(f, fd, err);
	if (fd < 0 || ret != -ENOENT)
		return ret;
	ret = map_text(f, fd, err);
	if (ret == -ENOENT) {
		ret = load_records_of_text(f, output, err);
		return ret == -ENOENT ? unknown_format(f, err) : ret;
	}
	if (ret)
		return ret;
	if (!f->format->read)
		return error_text(err, -EBADMSG, "%s: the format %s can only be written", f->label,
				  f->format->name);
	ret = read_profile(f, err);
	return ret ? read_failed(f, err) : 0;
}

int profile_file_load(struct profile_file *f, const char *path, const struct output_options *output,
		      struct error *err)
{
	struct identity owner = identity_of_invoker();
	struct identity before = identity_assume_files(&owner);
	int ret = before.failure;

	*f = (struct profile_file){0};
	sample_store_set_room(SAMPLE_STORE_ROOM_OF_READERS);
	if (ret)
		error_set(err, ret, "cannot read files as user %u", owner.uid);
	else if (fleet_url_is_one(path))
		ret = load_from_engine(f, path, err);
	else
		ret = load(f, path, output, err);
	identity_restore_files(&before);
	if (ret)
		profile_file_release(f);
	infile_release(f->text);
	f->text = NULL;
	return ret;
}

/* Maximum number of rows in the text. */
#define ROWS_MAX 20

void sides_release(struct sides *s)
{
	for (int side = 0; side < SIDE_COUNT; side++)
		query_runs_release(&s->runs[side]);
	vec_for_each(&s->files.list, struct profile_file *, file)
		profile_file_release(file);
	vec_release(&s->files.list);
}

int sides_load(struct sides *s, const char *path, const struct output_options *output,
	       struct query_runs *runs, size_t *killed, struct error *err)
{
	struct profile_file file;
	int ret = profile_file_load(&file, path, output, err);

	if (ret)
		return ret;
	vec_push(&s->files.list, file);
	ret = query_runs_find(runs, file.profile, err);
	if (ret)
		return error_wrap(err, "%s", file.label);
	*killed = query_runs_drop_killed(runs);
	return runs->rows.count ? 0 : error_text(err, -ENODATA, "%s: no runs", file.label);
}

static uint32_t greatest_divisor(uint32_t a, uint32_t b)
{
	while (b) {
		uint32_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

int sides_compare(struct sides *s, const struct comparable *comparable, struct strbuf *text,
		  struct strbuf *json, struct error *err)
{
	const struct comparison_options options = {.filter = QUERY_FILTER_ALL, .noise = -1};
	const struct gate gate = {0};
	struct gate_results results = {0};
	struct comparison comparison;
	const struct comparison_text t = {
		.comparison = &comparison,
		.comparable = comparable,
		.gate = &gate,
		.results = &results,
		.names = {s->names[SIDE_A], s->names[SIDE_B]},
		.limit = ROWS_MAX,
	};
	int ret = comparison_make(&comparison, &s->runs[SIDE_A], &s->runs[SIDE_B], &options, err);

	if (ret)
		return ret;
	gate_judge(&gate, &comparison, &results);
	comparison_print_text(&t, 0, text);
	comparison_print_json(&t, json);
	gate_results_release(&results);
	comparison_release(&comparison);
	return 0;
}

int sides_write_difference(const struct sides *s, const struct query_filter *filter,
			   const struct sides_output *output, struct outfile *out,
			   struct error *err)
{
	const struct query_runs *const runs[] = {&s->runs[SIDE_A], &s->runs[SIDE_B]};
	uint32_t a = (uint32_t)runs[SIDE_A]->rows.count, b = (uint32_t)runs[SIDE_B]->rows.count;
	uint32_t divisor = greatest_divisor(a, b);
	const struct export_difference difference = {
		.base = SIDE_A,
		.thread = SIDE_B,
		.base_weight = b / divisor,
		.weight = a / divisor,
		.text = output->text,
		.json = output->json,
	};
	const struct export_options options = {
		.all_threads = true,
		.difference = &difference,
		.is_served = output->is_served,
	};
	struct profile *p;
	int ret = join_sides(&p, runs, s->names, filter, err);

	if (ret)
		return ret;
	ret = output->format->write(p, &options, out, NULL, err);
	profile_free(p);
	return ret;
}
