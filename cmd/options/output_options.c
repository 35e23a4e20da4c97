/* SPDX-License-Identifier: MIT */
#include "cmd/options/output_options.h"

#include "lib/base/identity.h"

#define STALL_NS_DEFAULT 10000000000ull

static const char *const progress_styles[] = {
	[PROGRESS_AUTO] = "auto",
	[PROGRESS_PLAIN] = "plain",
	[PROGRESS_JSON] = "json",
	NULL,
};

void output_options_init(struct output_options *o)
{
	*o = (struct output_options){.path = PROFILE_PATH, .stall_ns = STALL_NS_DEFAULT};
}

void output_options_release(struct output_options *o)
{
	vec_release(&o->debug_dirs);
}

int output_choose_format(struct output_options *o, const char *option, const char *value,
			 struct error *err)
{
	_cleanup_(strbuf_release) struct strbuf known = {0};
	const char *const *names = format_names();

	o->format = format_find(value);
	if (o->format)
		return 0;
	for (size_t i = 0; names[i]; i++)
		strbuf_addf(&known, "%s%s", i ? ", " : "", names[i]);
	return error_text(err, -EINVAL, "%s %s: no such format; must be one of: %s", option, value,
			  strbuf_text(&known));
}

int output_set_format(void *at, const char *value, struct error *err)
{
	return output_choose_format(at, "--format", value, err);
}

int output_add_debug_dir(void *at, const char *value, struct error *err)
{
	struct output_options *o = at;

	if (!*value)
		return error_text(err, -EINVAL, "--debug-dir: the name must not be empty");
	vec_push(&o->debug_dirs, value);
	return 0;
}

#define AT(member) OPTION_AT(output_options, member)
#define GIVEN(member) OPTION_GIVEN(output_options, member)

static const struct option_row rows[] = {
	{.help = "\nOutput:"},
	{'o', "output", "FILE",
	 "default: profile.json.gz; not compressed if it ends in .json; - is stdout", OPTION_NAME,
	 AT(path), GIVEN(path_is_set)},
	{0, "format", "NAME", "format: @;\ndefault: chosen by the name of FILE", OPTION_CALL,
	 .list = format_names, .set = output_set_format},
	{0, "report", NULL,
	 "print the ten heaviest functions at the end; a profile is kept\n"
	 "only with --output or --format",
	 OPTION_FLAG, AT(report)},
	{0, "stats", "FILE", "write statistics of the recording and its losses, as JSON",
	 OPTION_NAME, AT(stats_path)},
	{0, "raw", "FILE", "write only a capture; prof convert finds the names later", OPTION_NAME,
	 AT(raw_path)},
	{0, "no-spool", NULL, "keep no capture on disk: if prof is killed, nothing is left",
	 OPTION_FLAG, AT(no_spool)},
	{0, "spool-dir", "DIR", "folder of the capture (default: the output's)", OPTION_NAME,
	 AT(spool_dir)},
	{0, "keep-capture", NULL, "keep the capture even after a success", OPTION_FLAG,
	 AT(keep_capture)},
	{0, "sync", NULL, "flush the capture to disk once a second", OPTION_FLAG, AT(sync)},
	{0, "epoch", "S", "begin a part that can be read on its own every S seconds", OPTION_TIME,
	 AT(epoch_ns), .unit_ns = 1e9},
	{0, "debug-dir", "DIR", "look for .build-id/xx/yyy.debug there; may be repeated",
	 OPTION_CALL, .set = output_add_debug_dir},
	{0, "no-symbols", NULL, "leave addresses unnamed", OPTION_FLAG, AT(no_symbols)},
	{0, "no-cache", NULL, "neither use nor keep what speeds up later recordings", OPTION_FLAG,
	 AT(no_cache)},
	{0, "all-threads", NULL, "give each thread its own row, however many there are",
	 OPTION_FLAG, AT(all_threads)},
	{0, "no-limit", NULL, "write all samples and markers, also more than a browser shows",
	 OPTION_FLAG, AT(no_limit)},
	{0, "sources", NULL, "include the text of source files", OPTION_FLAG, AT(sources),
	 .is_guarded = true},
	{0, "fail-on-loss", NULL, "exit with 125 if anything was lost; the profile is kept",
	 OPTION_FLAG, AT(fail_on_loss)},
	{0, "progress", "HOW", "show progress: @; auto: in a line, on a terminal", OPTION_CHOICE,
	 AT(progress), .choices = progress_styles},
	{0, "stall", "S",
	 "at the end, give up on files and servers without progress for S seconds\n"
	 "(default: 10)",
	 OPTION_TIME, AT(stall_ns), .unit_ns = 1e9},
	{'v', "verbose", NULL, "print more messages; twice: all", OPTION_COUNTED, AT(verbose)},
	{'q', "quiet", NULL, "no summary and no progress", OPTION_FLAG, AT(quiet)},
	{0},
};

const struct option_rule output_rules[] = {
	{"raw", "stats fail-on-loss", NULL, "--raw: @, which need a profile"},
	{"raw", "output format report", NULL, "--raw: writes no profile, so @; convert it later"},
	{"no-spool", "raw spool-dir keep-capture sync", NULL, "--no-spool: @, which need one"},
	{"raw", "spool-dir", NULL, "--raw: names the capture itself, so not with --spool-dir"},
	{"sources", "no-symbols", NULL, "--sources: needs the names that --no-symbols leaves out"},
	{0},
};

void output_options_table(struct option_table *t, struct output_options *o)
{
	option_table_add(t, rows, o);
	option_table_add_rules(t, output_rules);
}

void output_options_end_dirs(struct output_options *o)
{
	vec_push(&o->debug_dirs, NULL);
	o->debug_dirs.count--;
}

int output_options_check(struct output_options *o, struct error *err)
{
	if (o->raw_path && strcmp(o->raw_path, "-") == 0)
		return error_text(err, -EINVAL, "--raw -: must be a file");
	o->no_file |= o->raw_path || (o->report && !o->path_is_set && !o->format);
	if (!o->format)
		o->format = format_of_path(o->path);
	if (!o->format)
		o->format = FORMAT_DEFAULT;
	if (o->stats_path && strcmp(o->stats_path, "-") == 0)
		return error_text(err, -EINVAL, "--stats -: must be a file");
	if (o->stats_path && !o->no_file && strcmp(o->stats_path, o->path) == 0)
		return error_text(err, -EINVAL, "--stats and --output name the same file: %s",
				  o->path);
	output_options_end_dirs(o);
	return 0;
}

bool output_is_stdout(const struct output_options *o)
{
	return strcmp(o->path, "-") == 0;
}

void output_check_debug_dirs(const struct output_options *o, const struct identity *owner)
{
	struct identity before;

	if (!o->debug_dirs.count)
		return;
	before = identity_assume_files(owner);
	for (size_t i = 0; !before.failure && i < o->debug_dirs.count; i++) {
		int fd = open(o->debug_dirs.items[i], O_PATH | O_DIRECTORY | O_CLOEXEC);

		if (fd < 0)
			log_warn("--debug-dir %s: %s", o->debug_dirs.items[i], strerror(errno));
		else
			close(fd);
	}
	identity_restore_files(&before);
}

static int check_stdout(struct error *err)
{
	int flags = fcntl(STDOUT_FILENO, F_GETFL);

	if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
		error_text(err, -EBADF, "--output -: standard output is closed");
	else if (isatty(STDOUT_FILENO))
		error_text(err, -EINVAL, "--output -: standard output is a terminal");
	else
		return 0;
	error_hint(err, "redirect it to a file or a pipe");
	return -EINVAL;
}

int output_open(const struct output_options *o, const struct identity *owner, struct outfile **out,
		struct error *err)
{
	struct outfile_options options = {
		.path = o->path,
		.fd = -1,
		.gzip = format_is_compressed(o->format, o->path),
		.keeps_old = !o->path_is_set && strcmp(o->path, PROFILE_PATH) == 0,
		.owner = *owner,
		.is_cancelled = o->is_cancelled,
	};

	*out = NULL;
	if (o->no_file)
		return 0;
	if (output_is_stdout(o)) {
		if (check_stdout(err))
			return -EINVAL;
		options.path = "standard output";
		options.fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
		if (options.fd < 0)
			return error_set(err, -errno, "cannot write standard output");
	}
	if (!outfile_open(out, &options, err))
		return 0;
	if (!o->path_is_set)
		error_hint(err, "name another file: -o FILE");
	return err->code;
}

static const struct {
	const char *name;
	bool is_default;
} classes[SANITIZE_CLASS_COUNT] = {
#define CLASS_ROW(id, name, is_default, one, many) [SANITIZE_##id] = {name, is_default},
	SANITIZE_CLASSES(CLASS_ROW)
#undef CLASS_ROW
};

void sanitize_options_default(struct sanitize_settings *s)
{
	s->is_asked = true;
	for (size_t i = 0; i < SANITIZE_CLASS_COUNT; i++)
		s->options.removes[i] |= classes[i].is_default;
}

static int fail_class(const char *name, size_t size, struct error *err)
{
	struct strbuf known __attribute__((cleanup(strbuf_release_cleanup))) = {0};

	for (size_t i = 0; i < SANITIZE_CLASS_COUNT; i++)
		strbuf_addf(&known, "%s, ", classes[i].name);
	return error_text(err, -EINVAL,
			  "--sanitize: unknown '%.*s'; must be one of %sall, names=RE", (int)size,
			  name, strbuf_text(&known));
}

static int set_class(struct sanitize_settings *s, const char *name, size_t size, struct error *err)
{
	bool is_all = size == 3 && memcmp(name, "all", 3) == 0, found = is_all;

	for (size_t i = 0; i < SANITIZE_CLASS_COUNT; i++) {
		if (is_all ||
		    (strlen(classes[i].name) == size && memcmp(classes[i].name, name, size) == 0))
			found = s->options.removes[i] = true;
	}
	return found ? 0 : fail_class(name, size, err);
}

static int set_list(struct sanitize_settings *s, const char *list, struct error *err)
{
	int ret = 0;

	s->is_asked = true;
	/* An expression may contain commas, so it comes last in the list. */
	if (text_starts_with(list, "names="))
		sanitize_options_default(s);
	while (!ret && *list) {
		size_t size = strcspn(list, ",");

		if (text_starts_with(list, "names=")) {
			s->options.names = list + strlen("names=");
			return 0;
		}
		ret = set_class(s, list, size, err);
		list += size + (list[size] == ',');
	}
	return ret;
}

int sanitize_set(void *at, const char *value, struct error *err)
{
	struct sanitize_settings *s = at;

	if (value && !*value)
		return error_text(err, -EINVAL, "--sanitize: the list is empty");
	if (value)
		return set_list(s, value, err);
	sanitize_options_default(s);
	return 0;
}

const struct option_row sanitize_options[] = {
	{.help = "\nFor others to read:"},
	{0, "sanitize", "[=LIST]",
	 "write only data known to be harmless; leave out LIST: args, env, paths,\n"
	 "host, users, processes, threads, markers, times, sources,\n"
	 "build-ids; all; default: args, env, paths, host, users, sources.\n"
	 "Last in LIST, names=RE: other functions and modules are hashed",
	 OPTION_CALL, .set = sanitize_set},
	{0, "sanitize-key", "FILE",
	 "key for these hashes, 16 bytes or more (default: one of your own)", OPTION_TEXT,
	 OPTION_AT(sanitize_settings, key_path)},
	{0, "check-sanitized", NULL,
	 "search the result for users, host, home, paths and arguments:\n"
	 "exit with 1, without writing a file, if one is found",
	 OPTION_FLAG, OPTION_AT(sanitize_settings, checks)},
	{0},
};
