/* SPDX-License-Identifier: MIT */
/* prof convert: writes a profile in a different format, or joins several. */
#include "cmd/command.h"
#include "cmd/options/output_options.h"
#include "cmd/options/report_options.h"
#include "cmd/run/profile_file.h"
#include "cmd/text/annotation.h"
#include "cmd/text/profile_summary.h"
#include "cmd/text/record_summary.h"
#include "lib/query/summary.h"
#include "lib/query/copy_rows.h"
#include "lib/recording/perf_data/perf_source.h"
#include "lib/recording/workplace/lookup.h"
#include "lib/recording/workplace/sample_profile.h"

static const char name[] = "convert";
/*
 * A sample profile for LLVM's compilers: not a format of profiles, since it also depends on a
 * program's file.
 */
static const char autofdo_name[] = "autofdo";
#define AUTOFDO_SUFFIX ".afdo"
#define RESERVED_FILES 64
/* Functions whose instructions are in a page. */
#define ASSEMBLY_FUNCTIONS 200

/* A hundred years. */
#define SECONDS_MAX 3.2e9

struct convert {
	struct output_options output;
	struct query_filter filter;
	bool is_filtered; /* an option of a query was given */
	bool is_part; /* --from or --to was given */
	bool cpu_only;
	bool critical_path;
	bool assembly; /* --asm */
	struct sanitize_settings sanitize;
	uint64_t start_ns; /* CLOCK_MONOTONIC */
	const char *base_path; /* profile of --diff; NULL: none */
	bool is_autofdo; /* value of --module; NULL: the one with the most samples */
	const char *module; /* of --module; NULL: the one with most samples */
	VEC(const char *) paths;
	struct profile_file *files; /* files in command-line order */
	struct profile_file base;
	int version; /* index of `versions` */
};

static bool is_number(const char *value)
{
	double number;

	return text_to_double(value, &number);
}

/* Sets from_ns or until_ns of the part of a capture to read. */
static int set_time(struct convert *c, const char *option, const char *value, uint64_t *time,
		    struct error *err)
{
	double seconds;

	if (!text_to_double(value, &seconds) || seconds < 0 || seconds > SECONDS_MAX)
		return error_text(err, -EINVAL, "%s %s: must be a time in seconds", option, value);
	*time = (uint64_t)(seconds * 1e9 + 0.5);
	c->is_filtered = c->is_part = true;
	return 0;
}

static const char *const *format_names_here(void)
{
	static const char *names[32];
	const char *const *all = format_names();
	size_t count = 0;

	while (all[count] && count + 2 < sizeof(names) / sizeof(*names)) {
		names[count] = all[count];
		count++;
	}
	names[count] = autofdo_name;
	return names;
}

static int set_to(void *at, const char *value, struct error *err)
{
	struct convert *c = at;

	if (is_number(value))
		return set_time(c, "--to", value, &c->filter.until, err);
	c->is_autofdo = strcmp(value, autofdo_name) == 0;
	if (c->is_autofdo)
		return 0;
	return output_choose_format(&c->output, "--to", value, err);
}

static int set_from(void *at, const char *value, struct error *err)
{
	struct convert *c = at;

	return set_time(c, "--from", value, &c->filter.from, err);
}

#define AT(member) OPTION_AT(convert, member)
#define GIVEN(member) OPTION_GIVEN(convert, member)

/* The second one is the newest. */
static const char *const versions[] = {"70", "75", NULL};

static const struct option_row rows[] = {
	{'o', "output", "OUT", "output file; - is stdout", OPTION_NAME, AT(output.path)},
	{0, "to", "FORMAT", "@;\ndefault: chosen by the name of OUT", OPTION_CALL,
	 .list = format_names_here, .set = set_to},
	{0, "module", "NAME", "autofdo: the program or library; default: the one with most samples",
	 OPTION_TEXT, AT(module)},
	{.help = "  --from S, --to S       captures: read only this part, in seconds since the "
		 "start"},
	{0, "from", "S", NULL, OPTION_CALL, .set = set_from},
	{0, "diff", "FILE", "flame graphs: show the difference from that profile in colour",
	 OPTION_TEXT, AT(base_path)},
	{0, "stats", "FILE", "captures: write statistics of the recording and its losses, as JSON",
	 OPTION_NAME, AT(output.stats_path)},
	{0, "profile-version", "N", "firefox, jslb: version of the format: 70 (default), 75",
	 OPTION_CHOICE, AT(version), .choices = versions},
	{0, "debug-dir", "DIR",
	 "captures, --asm: look for programs and .build-id/xx/yyy.debug there", OPTION_CALL,
	 AT(output), .set = output_add_debug_dir},
	{0, "no-symbols", NULL, "captures: leave addresses unnamed", OPTION_FLAG,
	 AT(output.no_symbols)},
	{0, "no-cache", NULL, "captures: neither use nor keep what speeds up naming", OPTION_FLAG,
	 AT(output.no_cache)},
	{0, "sources", NULL, "captures: include the text of source files", OPTION_FLAG,
	 AT(output.sources), .is_guarded = true},
	{0, "asm", NULL, "pages: include the instructions of the heaviest functions", OPTION_FLAG,
	 AT(assembly), .is_guarded = true},
	{0, "all-threads", NULL, "captures, flame graphs: give each thread its own row",
	 OPTION_FLAG, AT(output.all_threads)},
	{0, "no-limit", NULL, "captures: all samples and markers, also more than a browser shows",
	 OPTION_FLAG, AT(output.no_limit)},
	{'v', "verbose", NULL, "print more messages; twice: all", OPTION_COUNTED,
	 AT(output.verbose)},
	{'q', "quiet", NULL, "no progress", OPTION_FLAG, AT(output.quiet)},
	{0},
};

static const struct option_row more_rows[] = {
	{0, "only-thread", "GLOB", "the same as --thread: other threads are not written",
	 OPTION_TEXT, AT(filter.thread), GIVEN(is_filtered)},
	{0, "cpu-only", NULL, "leave out waits", OPTION_FLAG, AT(cpu_only), GIVEN(is_filtered)},
	{0, "critical-path", NULL, "only what made the command take so long", OPTION_FLAG,
	 AT(critical_path), GIVEN(is_filtered)},
	{0},
};

static const struct option_rule rules[] = {
	{"diff", "sanitize", NULL, "--diff: the other profile is not sanitized: sanitize it first"},
	{"asm", "sanitize", NULL, "--asm: instructions are not sanitized"},
	{"cpu-only", "include-idle category", NULL,
	 "--cpu-only: leaves out waits, which --include-idle and --category keep"},
	{"critical-path", "cpu-only event", NULL,
	 "--critical-path: is the time on the path, waits included, so @"},
	{0},
};

static int take(void *ctx, const char *operand, struct error *err)
{
	struct convert *c = ctx;

	if (!*operand)
		return error_text(err, -EINVAL, "the file name must not be empty");
	vec_push(&c->paths, operand);
	return 0;
}

static void make_table(struct option_table *t, void *ctx)
{
	struct convert *c = ctx;

	t->usage =
		"Usage: prof convert [OPTION]... FILE... -o OUT\n"
		"Write a profile in a different format, or join several into one by wall clock.\n"
		"\n";
	t->take = take;
	option_table_add(t, rows, c);
	option_table_add(t, option_common, NULL);
	option_table_add(t, query_options, &c->filter);
	option_table_add(t, sanitize_options, &c->sanitize);
	option_table_add(t, more_rows, c);
	option_table_add_rules(t, rules);
	t->after = "\n"
		   "FILE is a profile, compressed or not, or a capture; - is stdin.\n"
		   "Exit status: 0, 125 if a file cannot be used, 2 for a usage error, 1 by\n"
		   "--check-sanitized.\n";
}

/* Rejects most options: a sample profile only describes the time of one program. */
static int check_autofdo(struct convert *c, struct error *err)
{
	if (c->output.stats_path || c->base_path || c->sanitize.is_asked || c->sanitize.checks ||
	    c->assembly)
		return error_text(
			err, -EINVAL,
			"--to %s cannot be combined with --asm, --diff, --sanitize or --stats",
			autofdo_name);
	if (c->is_part)
		return error_text(err, -EINVAL, "--to %s: use --time in place of --from and --to",
				  autofdo_name);
	c->output.branches = true;
	c->filter.all_events = !c->filter.event;
	/* Otherwise behave like another text format for clock samples. */
	c->output.format = &format_folded;
	output_options_end_dirs(&c->output);
	return 0;
}

static int check(struct convert *c, struct error *err)
{
	int stdins = c->base_path && strcmp(c->base_path, "-") == 0;

	if (!c->paths.count)
		return error_text(err, -EINVAL, "no file to convert");
	vec_for_each(&c->paths, const char **, path)
		stdins += strcmp(*path, "-") == 0;
	if (stdins > 1)
		return error_text(err, -EINVAL, "standard input can be read only once");
	if (!c->output.path)
		return error_text(err, -EINVAL, "no file to write: --output is missing");
	c->is_autofdo |= !c->output.format && text_ends_with(c->output.path, AUTOFDO_SUFFIX);
	if (c->is_autofdo)
		return check_autofdo(c, err);
	if (c->module)
		return error_text(err, -EINVAL, "--module: only --to %s has one module",
				  autofdo_name);
	if (!c->output.format)
		c->output.format = format_of_path(c->output.path);
	if (!c->output.format)
		return error_text(err, -EINVAL,
				  "--output %s: cannot tell the format from the name: use --to",
				  c->output.path);
	if (c->sanitize.key_path && !c->sanitize.options.names)
		return error_text(err, -EINVAL, "--sanitize-key: needs --sanitize=names=RE");
	if (c->base_path && !c->output.format->is_flame_graph)
		return error_text(err, -EINVAL, "--diff: only flame graphs can show a difference");
	if (c->assembly && c->output.format != &format_html)
		return error_text(err, -EINVAL, "--asm: only pages (x.html) have instructions");
	if (c->is_part && c->filter.from >= c->filter.until)
		return error_text(err, -EINVAL, "--from, --to: nothing was recorded in that time");
	if (c->is_part && c->paths.count > 1)
		return error_text(err, -EINVAL, "--from and --to need exactly one capture");
	if (c->is_part)
		c->output.from_ns = c->filter.from;
	if (c->is_part && c->filter.until != UINT64_MAX)
		c->output.until_ns = c->filter.until;
	c->filter.all_events = !c->filter.event;
	if (c->output.stats_path && (strcmp(c->output.stats_path, "-") == 0 ||
				     strcmp(c->output.stats_path, c->output.path) == 0))
		return error_text(err, -EINVAL, "--stats %s: must be a file other than the output",
				  c->output.stats_path);
	output_options_end_dirs(&c->output);
	/* Formats with a timeline show waits. */
	c->filter.include_idle |= (c->output.format->is_timeline || c->critical_path) &&
				  !c->cpu_only;
	return 0;
}

static void say_unread(const struct profile_file *file)
{
	_cleanup_(strbuf_release) struct strbuf line = {0};

	profile_summary_unread(&file->counts, &line);
	if (line.size)
		command_say_as(name, "%s: %s", file->label, strbuf_text(&line));
}

/* The files of a profile's functions may have changed since, and may be another machine's. */
static int check_sources(const struct convert *c, const struct profile_file *file,
			 struct error *err)
{
	if (!c->output.sources || file->recording)
		return 0;
	error_text(err, -ENODATA, "--sources: %s: needs a capture", file->label);
	error_hint(err, "prof symbolize --sources adds the files of this machine to a profile");
	return -ENODATA;
}

static int load(struct convert *c, struct error *err)
{
	int ret = 0;

	c->files = xcalloc(c->paths.count, sizeof(*c->files));
	for (size_t i = 0; !ret && i < c->paths.count; i++) {
		ret = profile_file_load(&c->files[i], c->paths.items[i], &c->output, err);
		if (!ret)
			ret = check_sources(c, &c->files[i], err);
		if (!ret && c->critical_path)
			ret = profile_file_keep_path(&c->files[i], false, err);
		if (!ret)
			say_unread(&c->files[i]);
	}
	if (!ret && c->base_path)
		ret = profile_file_load(&c->base, c->base_path, &c->output, err);
	if (!ret && c->base_path && c->critical_path)
		ret = profile_file_keep_path(&c->base, false, err);
	return ret;
}

static int narrow_files(const struct convert *c, const struct profile_file *files, size_t count,
			struct profile **out, struct error *err)
{
	_cleanup_free_ const struct profile **profiles = xcalloc(count, sizeof(*profiles));
	struct narrow_counts counts = {0};
	int ret;

	for (size_t i = 0; i < count; i++)
		profiles[i] = files[i].profile;
	ret = narrow(out, profiles, count, &c->filter, &counts, err);
	if (!ret && counts.lost_markers)
		command_say_as(name, "%" PRIu64 " %s dropped: a different schema has the same name",
			       counts.lost_markers,
			       text_counted(counts.lost_markers, "marker", "markers"));
	return ret;
}

static int write_stats(const struct convert *c, const struct export_counts *counts, uint64_t bytes,
		       struct error *err)
{
	const struct identity owner = identity_of_invoker();
	struct recording *recording = c->files[0].recording;
	struct outcome outcome = {
		.recording = recording,
		.counts = *counts,
		.path = c->output.path,
		.file_bytes = bytes,
		.is_cut = !recording->counts.is_complete,
		.finish_ns = clock_monotonic_ns() - c->start_ns,
		.recorder_cpu_ns = clock_process_cpu_ns(),
	};
	struct outfile *out = NULL;
	int ret = outfile_open_plain(&out, c->output.stats_path, &owner, err);

	outcome.counts.threads = recording->profile->threads.rows.count;
	outcome.counts.processes = profile_process_count(recording->profile);
	if (!ret) {
		summary_write_stats(&outcome, out);
		ret = outfile_commit(out, err);
	}
	outfile_free(out);
	return ret;
}

/* Sums up, by module, the event's samples in its own code. */
static void leaf_weights(const struct profile *p, uint8_t event, uint64_t *weights)
{
	vec_for_each(&p->threads.rows, const struct profile_thread *, thread) {
		samples_for_each(&thread->samples, sample) {
			module_id module = NO_MODULE;

			if (sample->event == event && sample->stack != NO_STACK)
				module = frames_get(&p->frames,
						    p->stacks.rows.items[sample->stack].frame)
						 ->module;
			if (module != NO_MODULE)
				weights[module] += sample->weight;
		}
	}
}

/* Returns the module to write: that of the name, or the one with the most samples. */
static int find_module(const struct convert *c, const struct profile *p, uint8_t event,
		       module_id *found, struct error *err)
{
	_cleanup_free_ uint64_t *weights = xcalloc(p->modules.rows.count + 1, sizeof(*weights));

	leaf_weights(p, event, weights);
	*found = NO_MODULE;
	for (module_id id = 0; id < p->modules.rows.count; id++) {
		const struct module *module = &p->modules.rows.items[id];

		if (module->kind != PROFILE_MODULE_FILE || !weights[id] ||
		    (c->module && strcmp(strings_get(&p->strings, module->name), c->module) != 0 &&
		     strcmp(strings_get(&p->strings, module->path), c->module) != 0))
			continue;
		if (*found == NO_MODULE || weights[id] > weights[*found])
			*found = id;
	}
	if (*found == NO_MODULE)
		return error_text(err, -ENODATA, "no samples in %s",
				  c->module ? c->module : "the code of a program or library");
	return 0;
}

static int write_autofdo(const struct convert *c, struct profile *p, struct error *err)
{
	const struct identity owner = identity_of_invoker();
	const struct lookup lookup = {.profile = p, .dirs = c->output.debug_dirs.items};
	struct sample_profile s = {
		.profile = p,
		.dirs = lookup.dirs,
		.event = profile_event(p, PERF_BRANCHES),
	};
	struct sample_profile_counts counts;
	struct outfile *out = NULL;
	struct file_set *files;
	int ret;

	s.are_branches = s.event && p->events.rows.items[s.event].samples;
	if (!s.are_branches)
		s.event = profile_first_event(p);
	ret = find_module(c, p, s.event, &s.module, err);
	if (ret)
		return ret;
	files = lookup_files(&lookup, RESERVED_FILES);
	s.files = files;
	ret = output_open(&c->output, &owner, &out, err);
	if (!ret)
		ret = sample_profile_write(&s, out, &counts, err);
	if (!ret)
		ret = outfile_commit(out, err);
	if (!ret && !c->output.quiet)
		command_say_as(name, "%" PRIu64 " %s of %s, %.1f %% with lines of functions",
			       counts.weight, s.are_branches ? "branches" : "samples",
			       strings_get(&p->strings, p->modules.rows.items[s.module].name),
			       counts.weight ? 100.0 * (double)counts.used / (double)counts.weight
					     : 0.0);
	outfile_free(out);
	file_set_free(files);
	return ret;
}

/*
 * Finds instructions in a copy of the profile, since a search for files changes its modules.
 * Leaves out functions whose code is not here, and reports it for the heaviest one.
 */
static int find_assembly(const struct convert *c, struct strbuf *json, struct error *err)
{
	const struct query_filter filter = QUERY_FILTER_ALL;
	struct assembly assembly = {0};
	struct error missed = {0};
	struct profile *p = NULL;
	struct query q;
	int ret = narrow_files(c, c->files, c->paths.count, &p, err);

	if (!ret)
		ret = query_select(&q, p, &filter, err);
	if (!ret) {
		if (assembly_make_heaviest(&assembly, p, &q, ASSEMBLY_FUNCTIONS,
					   c->output.debug_dirs.items, &missed))
			command_say_as(name, "--asm: %s", missed.text);
		assembly_print_json(&assembly, p, json);
		assembly_release(&assembly);
		query_release(&q);
	}
	profile_free(p);
	return ret;
}

static int write_out(const struct convert *c, const struct profile *p,
		     struct export_options *options, struct error *err)
{
	const struct identity owner = identity_of_invoker();
	_cleanup_(strbuf_release) struct strbuf assembly = {0};
	struct export_counts counts = {0};
	struct outfile *out = NULL;
	int ret = c->assembly ? find_assembly(c, &assembly, err) : 0;

	options->assembly = c->assembly && !ret ? strbuf_text(&assembly) : NULL;
	if (!ret)
		ret = output_open(&c->output, &owner, &out, err);
	if (!ret)
		ret = c->output.format->write(p, options, out, &counts, err);
	if (!ret)
		ret = outfile_commit(out, err);
	if (!ret && c->output.stats_path)
		ret = write_stats(c, &counts, outfile_size(out), err);
	outfile_free(out);
	return ret;
}

/* True if a capture's profile is written exactly as the recording would have written it. */
static bool is_replay(const struct convert *c)
{
	return c->paths.count == 1 && c->files[0].recording && !c->base_path && !c->is_filtered &&
	       !c->sanitize.is_asked && !c->sanitize.checks && c->output.format->is_timeline;
}

static int write_replay(const struct convert *c, struct error *err)
{
	struct export_options options = {
		.is_newest = c->version,
		.all_threads = c->output.all_threads,
		.cpus = c->files[0].recording->facts.per_cpu,
	};

	return write_out(c, c->files[0].profile, &options, err);
}

/*
 * True if the profile has rows of CPUs. These are derived from samples, which state their CPU in a
 * written profile only if it had such rows.
 */
static bool has_cpu_rows(const struct profile_file *file)
{
	if (file->recording)
		return file->recording->facts.per_cpu;
	vec_for_each(&file->profile->threads.rows, const struct profile_thread *, thread) {
		samples_for_each(&thread->samples, sample) {
			if (sample->cpu != NO_CPU)
				return true;
		}
	}
	return false;
}

/* Frees profiles that were copied, unless something else needs them. */
static void release_copied(struct convert *c)
{
	for (size_t i = 0; i < c->paths.count && !c->assembly && !c->output.stats_path; i++)
		profile_file_release(&c->files[i]);
}

static int write_narrowed(struct convert *c, struct error *err)
{
	/* CPU numbers of several recordings coincide. */
	struct export_options options = {
		.is_newest = c->version,
		.all_threads = c->output.format->is_timeline || c->output.all_threads,
		.cpus = c->paths.count == 1 && !c->base_path && has_cpu_rows(&c->files[0]),
	};
	struct profile *all = NULL, *base = NULL;
	int ret = narrow_files(c, c->files, c->paths.count, &all, err);

	if (!ret && c->base_path)
		ret = narrow_files(c, &c->base, 1, &base, err);
	options.base = base;
	/* A timeline also shows data without samples, unless the filter removed the samples. */
	if (!ret && !profile_sample_count(all) &&
	    (c->is_filtered || !c->output.format->is_timeline)) {
		ret = error_text(err, -ENODATA, "no matching samples");
		heaviest_names_hint(err, c->files[0].profile, &c->filter);
	}
	if (!ret && (c->sanitize.is_asked || c->sanitize.checks))
		ret = sanitizing_run(&all, &c->sanitize, name, err);
	if (!ret)
		release_copied(c);
	if (!ret)
		ret = c->is_autofdo ? write_autofdo(c, all, err) : write_out(c, all, &options, err);
	profile_free(all);
	profile_free(base);
	return ret;
}

static int convert(struct convert *c, struct error *err)
{
	int ret = load(c, err);

	if (!ret && c->is_part && !c->files[0].recording)
		ret = error_text(err, -EINVAL,
				 "--from and --to need a capture: use --time for a profile");
	if (!ret && c->output.stats_path && (c->paths.count > 1 || !c->files[0].recording))
		ret = error_text(err, -EINVAL, "--stats needs exactly one capture");
	if (!ret)
		ret = is_replay(c) ? write_replay(c, err) : write_narrowed(c, err);
	for (size_t i = 0; c->files && i < c->paths.count; i++)
		profile_file_release(&c->files[i]);
	profile_file_release(&c->base);
	return ret;
}

static int run(int argc, char **argv)
{
	struct convert c = {.filter = QUERY_FILTER_ALL, .start_ns = clock_monotonic_ns()};
	struct error err = {0};
	int ret = command_parse(argc, argv, make_table, &c, &err), status = 0;

	c.is_filtered |= c.filter.is_given;
	if (!ret)
		ret = check(&c, &err);
	if (ret) {
		status = command_fail_usage(name, &err);
	} else {
		ret = convert(&c, &err);
		if (ret)
			status = command_fail(name, ret > 0 ? EXIT_NOT_SANITIZED : EXIT_REFUSED,
					      &err);
	}
	free(c.files);
	vec_release(&c.paths);
	output_options_release(&c.output);
	return status;
}

const struct command command_convert = {
	.name = name,
	.summary = "write a profile in a different format, or join several",
	.options = make_table,
	.run = run,
};
