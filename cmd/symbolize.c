/* SPDX-License-Identifier: MIT */
/* prof symbolize: adds names to a profile written without them. */
#include "cmd/command.h"
#include "lib/recording/workplace/lookup.h"
#include "cmd/run/profile_file.h"
#include "lib/recording/coverage.h"
#include "cmd/options/output_options.h"
#include "lib/recording/workplace/naming.h"
#include "cmd/elevate/elevation.h"
#include "cmd/text/progress.h"
#include "lib/base/workers.h"
#include "lib/format/firefox/patch/patch.h"
#include "symbolize/source_texts.h"

/* Descriptors reserved for other uses than modules. */
#define RESERVED_FILES 64

struct symbolize_command {
	const char *input;
	struct output_options output;
	struct identity owner; /* invoking user, who reads and writes the files */
	struct outfile *out;
	struct patch *patch;
	struct file_set *files;
	struct signals signals;
	struct sources_stats sources;
	struct coverage coverage;
	/* Writers of the profile, who must gain no access to other files. Only as root. */
	struct readers authors;
	int signal; /* signal that ended naming; 0: none */
};

extern const struct command command_symbolize;

static int check(struct symbolize_command *c, struct error *err)
{
	if (!c->input)
		return error_text(err, -EINVAL, "no file to symbolize");
	if (!c->output.path)
		return error_text(err, -EINVAL, "--output is missing");
	return output_options_check(&c->output, err);
}

#define AT(member) OPTION_AT(output_options, member)
#define GIVEN(member) OPTION_GIVEN(output_options, member)

static const struct option_row rows[] = {
	{'o', "output", "FILE", "plain if it ends in .json; - is stdout; may be the same file",
	 OPTION_NAME, AT(path), GIVEN(path_is_set)},
	{0, "format", "NAME", "format of the output: firefox", OPTION_CALL,
	 .set = output_set_format},
	{0, "debug-dir", "DIR",
	 "look for programs and .build-id/xx/yyy.debug there; may be\n"
	 "repeated",
	 OPTION_CALL, .set = output_add_debug_dir},
	{0, "sources", NULL, "include the text of source files", OPTION_FLAG, AT(sources),
	 .is_guarded = true},
	{0, "stall", "S",
	 "give up on files and servers without progress for S seconds\n"
	 "(default: 10)",
	 OPTION_TIME, AT(stall_ns), .unit_ns = 1e9},
	{'v', "verbose", NULL, "print more messages; twice: all", OPTION_COUNTED, AT(verbose)},
	{'q', "quiet", NULL, "no summary and no progress", OPTION_FLAG, AT(quiet)},
	{0},
};

static void make_table(struct option_table *t, void *ctx)
{
	struct symbolize_command *c = ctx;

	t->usage = "Usage: prof symbolize [OPTION]... FILE -o FILE\n"
		   "Add names to a profile that was recorded without them.\n"
		   "\n";
	t->take = command_take_file;
	t->file = &c->input;
	option_table_add(t, rows, &c->output);
	option_table_add(t, option_common, NULL);
	t->after = "\n"
		   "FILE is a profile, compressed or not, or a capture; - is stdin.\n"
		   "Exit status: 0, 125 if a file cannot be used, 2 for a usage error.\n";
}

static int parse(int argc, char **argv, struct symbolize_command *c, struct error *err)
{
	c->output.path = NULL;
	return command_parse(argc, argv, make_table, c, err) ?: check(c, err);
}

/*
 * Opens the profile for patching. Patches require one format; other formats are converted. Takes
 * ownership of the text.
 */
static int open_patch(struct symbolize_command *c, struct profile_file *file, struct error *err)
{
	int ret;

	if (c->output.format != FORMAT_DEFAULT)
		return error_text(err, -EINVAL,
				  "%s: the format %s cannot be converted here: leave out --format",
				  file->label, file->format->name);
	ret = profile_file_upgrade(file, err);
	if (ret)
		return ret;
	ret = patch_open(&c->patch, steal(file->text), file->size, err);
	return ret ? error_wrap(err, "%s", file->label) : 0;
}

static int read_input(struct symbolize_command *c, struct error *err)
{
	struct profile_file file = {0};
	_cleanup_close_ int fd = profile_file_open(&file, c->input, err);
	int ret;

	if (fd < 0)
		return fd;
	readers_add(&c->authors, lookup_reader(fd));
	ret = profile_file_read_unnamed(&file, fd, err) ?: open_patch(c, &file, err);
	profile_file_release(&file);
	return ret;
}

/*
 * True if prof can read files that its user cannot, so their contents must be kept from other
 * readers.
 */
static bool is_root(const struct symbolize_command *c)
{
	return c->owner.is_self && geteuid() == 0;
}

static void find_files(struct symbolize_command *c)
{
	_cleanup_free_ char *os = patch_os(c->patch);
	const struct lookup lookup = {
		.profile = patch_profile(c->patch),
		.patch = c->patch,
		.os = os,
		.dirs = c->output.debug_dirs.items,
		.readers = is_root(c) ? &c->authors : NULL,
		.stall_ns = c->output.stall_ns,
	};

	c->files = lookup_files(&lookup, RESERVED_FILES);
}

/*
 * Restores the reason for a missing file, which is more specific than that of the search for names.
 */
static void restore_reasons(struct profile *p, const enum symbol_reason *before)
{
	vec_for_each(&p->modules.rows, struct module *, module) {
		enum symbol_reason found = *before++;

		if (found != SYMBOLS_UNASKED && module->reason != SYMBOLS_FOUND &&
		    module->reason != SYMBOLS_KERNEL_NO_DEBUG_FILE)
			module->reason = found;
	}
}

/* False if files are missing here, so that another machine may find more names. */
static bool is_complete(const struct profile *p)
{
	return !vec_find(&p->modules.rows, module,
			 module->reason == SYMBOLS_NOT_HERE ||
				 module->reason == SYMBOLS_OTHER_BUILD ||
				 module->reason == SYMBOLS_UNREADABLE);
}

static enum workers_wish wish(void *ctx)
{
	struct symbolize_command *c = ctx;
	struct signal_event event;

	if (!c->signal && signals_next(&c->signals, &event))
		c->signal = event.signal;
	return c->signal ? WORKERS_HURRY : WORKERS_GO_ON;
}

static void name_frames(struct symbolize_command *c)
{
	struct profile *p = patch_profile(c->patch);
	_cleanup_free_ char *os = patch_os(c->patch), *release = lookup_kernel_release(os);
	struct naming naming = {
		.files = c->files,
		.dirs = c->output.debug_dirs.items,
		.fetcher = -1,
		.kernel_release = release ? release : "",
		.stall_ns = c->output.stall_ns,
	};
	struct progress_naming progress = {.wish = wish, .ctx = c};
	_cleanup_free_ enum symbol_reason *reasons = xcalloc(p->modules.rows.count + 1,
							     sizeof(*reasons));

	for (size_t i = 0; i < p->modules.rows.count; i++)
		reasons[i] = p->modules.rows.items[i].reason;
	progress_naming_begin(&progress, c->output.quiet, PROGRESS_AUTO, 0, &naming, NULL);
	naming_run(p, &naming);
	progress_naming_end(&progress);
	restore_reasons(p, reasons);
	p->meta.symbolicated = is_complete(p);
}

static void add_sources(struct symbolize_command *c)
{
	struct readers unknown_readers = {0};
	/* Code without a file has no known owner. */
	struct sources_options options = {
		.files = c->files,
		.owner = c->owner,
		.unknown_readers = is_root(c) ? &unknown_readers : NULL,
		.file_bytes = SOURCES_FILE_BYTES,
		.total_bytes = SOURCES_TOTAL_BYTES,
		.stall_ns = c->output.stall_ns,
	};

	if (!c->output.sources)
		return;
	readers_add(&unknown_readers, (struct reader){READER_UNKNOWN, READER_UNKNOWN});
	sources_collect(patch_profile(c->patch), &options, &c->sources);
	readers_release(&unknown_readers);
}

/* Keeps the earlier row of a module without new results. */
static void add_new_coverage(struct symbolize_command *c)
{
	struct coverage coverage = {0};

	vec_for_each(&c->coverage.rows, const struct module_coverage *, it) {
		struct module_coverage row = *it;
		size_t before = row.module == NO_MODULE ? 0
							: patch_named_before(c->patch, row.module);

		if (before && !row.named)
			continue;
		row.frames += before;
		row.named += before;
		/* Do not count lines of frames that had names before. */
		if (before)
			row.with_lines = LINES_UNKNOWN;
		vec_push(&coverage.rows, row);
	}
	coverage_add_extra(&coverage, patch_profile(c->patch));
	coverage_release(&coverage);
}

/* Adds the same rows as prof record. */
static void add_extra(struct symbolize_command *c, const struct patch_counts *counts)
{
	struct profile *p = patch_profile(c->patch);

	profile_add_count(p, FACT_FRAMES, NULL, counts->all);
	profile_add_count(p, FACT_NAMED_FRAMES, NULL, counts->all_named);
	profile_add_count(p, FACT_FDE_FRAMES, NULL, counts->all_fde);
	add_new_coverage(c);
	if (c->output.sources)
		sources_add_extra(p, &c->sources);
}

/* Warns even with --quiet: the profile lacks names that servers might have had. */
static void warn_of_silence(const struct symbolize_command *c)
{
	_cleanup_(strbuf_release) struct strbuf text = {0};

	coverage_describe_silence(patch_profile(c->patch), &c->sources, c->output.stall_ns, &text);
	if (text.size)
		log_warn("%s", strbuf_text(&text));
}

static void report(struct symbolize_command *c, const struct patch_counts *counts)
{
	_cleanup_(strbuf_release) struct strbuf sources = {0}, table = {0};

	if (c->output.quiet)
		return;
	if (c->output.verbose) {
		coverage_describe(&c->coverage, patch_profile(c->patch), "prof: ", &table);
		fputs(strbuf_text(&table), stderr);
	}
	command_say("%zu of %zu unnamed frames named", counts->named, counts->unnamed);
	if (c->output.sources) {
		sources_describe(&c->sources, &sources);
		command_say("sources: %s", strbuf_text(&sources));
	}
	command_say_written(c->output.path, outfile_size(c->out), "");
}

/* Opens the files. Until then a signal ends prof at once, even while it waits for a pipe. */
static int open_files(struct symbolize_command *c, struct error *err)
{
	int ret = read_input(c, err) ?: output_open(&c->output, &c->owner, &c->out, err);

	if (!ret)
		output_check_debug_dirs(&c->output, &c->owner);
	return ret ? ret : signals_init(&c->signals, err);
}

static int work(struct symbolize_command *c, struct error *err)
{
	struct patch_counts counts;
	int ret = open_files(c, err);

	if (ret)
		return ret;
	find_files(c);
	name_frames(c);
	if (c->signal)
		return 0;
	add_sources(c);
	coverage_count(&c->coverage, patch_profile(c->patch));
	patch_apply(c->patch, &counts);
	add_extra(c, &counts);
	patch_write(c->patch, c->out);
	ret = outfile_commit(c->out, err);
	warn_of_silence(c);
	if (!ret)
		report(c, &counts);
	return ret;
}

/* Root must not read files that the invoking user cannot read. */
static int work_as_owner(struct symbolize_command *c)
{
	struct identity before = identity_assume_files(&c->owner);
	struct error err = {0};
	int ret = before.failure;

	if (ret)
		error_set(&err, ret, "cannot read files as user %u", c->owner.uid);
	else
		ret = work(c, &err);
	identity_restore_files(&before);
	if (ret)
		return command_fail(command_symbolize.name, EXIT_REFUSED, &err);
	if (!c->signal)
		return 0;
	command_say("ended by a signal: nothing was written");
	return EXIT_SIGNAL_BASE + c->signal;
}

static int run(int argc, char **argv)
{
	struct symbolize_command c = {.owner = identity_of_invoker(), .signals.fd = -1};
	struct error err = {0};
	int ret;

	output_options_init(&c.output);
	ret = parse(argc, argv, &c, &err);
	if (ret) {
		ret = command_fail_usage(command_symbolize.name, &err);
	} else {
		if (c.output.verbose)
			log_set_level(c.output.verbose > 1 ? LOG_DEBUG : LOG_INFO);
		ret = work_as_owner(&c);
	}
	outfile_free(c.out);
	/* Threads that were left behind may still use it. */
	if (threads_are_left())
		return ret;
	coverage_release(&c.coverage);
	patch_free(c.patch);
	file_set_free(c.files);
	readers_release(&c.authors);
	signals_release(&c.signals);
	output_options_release(&c.output);
	return ret;
}

const struct command command_symbolize = {
	.name = "symbolize",
	.summary = "add names to a profile that was recorded without them",
	.options = make_table,
	.run = run,
};
