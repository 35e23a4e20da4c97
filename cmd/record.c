/* SPDX-License-Identifier: MIT */
/* prof record: record a command or the whole machine. */
#include "cmd/command.h"
#include "cmd/options/filter_options.h"
#include "cmd/options/pipeline_options.h"
#include "cmd/elevate/caller.h"
#include "cmd/options/live_options.h"
#include "cmd/options/output_options.h"
#include "cmd/run/child_programs.h"
#include "cmd/run/pipeline.h"
#include "lib/recording/meta.h"

extern const struct command command_record;

struct record {
	bool open; /* show the profile in a browser at the end */
	struct caller *front; /* NULL: not started by the front process */
	struct filter_options filter;
	struct live_options live;
	struct output_options output;
	struct iteration_options iterations;
	struct push_options push;
	char **argv; /* command and its arguments; NULL: none */
};

#define AT(member) OPTION_AT(record, member)

static const struct option_rule rules[] = {
	{"critical-path", "iterations variant last", NULL,
	 "--critical-path: follows one run of a command, from its start to its end"},
	{"last", "iterations warmup variant", NULL, NULL},
	{"push", "iterations warmup variant open", NULL, NULL},
	{0},
};

static const struct option_row first_rows[] = {
	{.help = "Recording:"},
	{'a', "all", NULL, "record all processes and kernel threads", OPTION_FLAG,
	 AT(filter.filter.all), .is_guarded = true},
	{0},
};

static const struct option_row last_rows[] = {
	{0, "open", NULL, "show the profile in a browser at the end, as prof view does",
	 OPTION_FLAG, AT(open), .is_guarded = true},
	{0},
};

static void make_table(struct option_table *t, void *ctx)
{
	struct record *r = ctx;

	t->runs = true;
	t->usage =
		"Usage: prof record [OPTION]... [--] COMMAND [ARGUMENT]...\n"
		"       prof record -a [OPTION]... [[--] COMMAND [ARGUMENT]...]\n"
		"Run a command and record where it and its descendants spend their time. With -a,\n"
		"record the whole machine until the command ends, the time is up, or Ctrl-C is\n"
		"pressed.\n"
		"\n";
	option_table_add(t, first_rows, r);
	live_options_table(t, &r->live);
	option_table_add(t, command_options, &r->live);
	option_table_add_rules(t, command_rules);
	option_table_add(t, filter_options, &r->filter);
	option_table_add(t, iteration_options, &r->iterations);
	option_table_add(t, system_options, &r->filter);
	option_table_add(t, last_options, &r->live.last);
	option_table_add_rules(t, last_rules);
	option_table_add_rules(t, rules);
	output_options_table(t, &r->output);
	option_table_add(t, last_rows, r);
	option_table_add(t, push_options_windows, &r->push);
	option_table_add(t, push_options_who, &r->push);
	option_table_add_rules(t, push_options_rules);
	option_table_add(t, option_common, NULL);
	t->after = "\n"
		   "Exit status: the command's own, 128 + n if signal n ended it, 125 if prof\n"
		   "failed, 126 or 127 if the command could not be run, 2 for a usage error.\n";
}

/* Rejects filters that need -a. */
static int refuse_filters(const struct record *r, struct error *err)
{
	vec_for_each(&r->filter.choices, const struct filter_choice *, choice) {
		if (choice->kind == FILTER_BY_PID && !r->argv)
			return error_text(
				err, -EINVAL,
				"--pid needs -a; to record a running process: prof attach -p %s",
				choice->value);
	}
	return error_text(
		err, -EINVAL,
		"--pid, --tid, --comm, --cgroup, --uid and --include-self need -a; to record "
		"running processes: prof attach");
}

static bool has_command(const struct record *r)
{
	return r->argv || r->iterations.variant_count;
}

static int check(struct record *r, struct error *err)
{
	int ret = instrument_settings_judge(&r->live.instruments, err);

	if (!ret)
		ret = output_options_check(&r->output, err);
	if (!ret)
		ret = push_options_check(&r->push, err);
	if (!ret)
		ret = iteration_options_check(&r->iterations, r->argv, err);
	if (ret)
		return ret;
	r->push.spool_dir = r->output.spool_dir;
	r->output.no_file |= r->push.urls.count > 0;
	if (r->open && (r->output.raw_path || r->output.no_file || output_is_stdout(&r->output) ||
			r->output.format != FORMAT_DEFAULT))
		return error_text(err, -EINVAL,
				  "--open: needs a profile file in the format firefox");
	if (r->open && strchr(r->output.path, '%'))
		return error_text(err, -EINVAL,
				  "--open: cannot be combined with %% in the output name");
	if (r->filter.filter.all && r->iterations.is_used)
		return error_text(err, -EINVAL, "--iterations: cannot be combined with -a");
	if (r->filter.filter.all) {
		if (!r->argv && (r->live.kill || r->live.as_root))
			return error_text(err, -EINVAL, "--kill and --as-root need a command");
		return 0;
	}
	if (r->filter.is_limited)
		return refuse_filters(r, err);
	if (!has_command(r))
		return error_text(err, -EINVAL, "no command to record");
	return 0;
}

/* Returns -ECANCELED if --help was printed. */
static int parse(struct record *r, int argc, char **argv, struct error *err)
{
	int ret = command_parse(argc, argv, make_table, r, err);

	if (ret)
		return ret;
	r->argv = optind < argc ? argv + optind : NULL;
	return check(r, err);
}

static int record(struct record *r, char **argv)
{
	struct pipeline_options options = {
		.command = command_record.name,
		.live = &r->live,
		.filter = &r->filter.filter,
		.output = &r->output,
		.push = &r->push,
		.own_argv = argv,
		.front = r->front,
		.argv = iteration_options_argv(&r->iterations, r->argv),
		.iterations = r->iterations.is_used ? &r->iterations : NULL,
	};
	_cleanup_free_ char *filter_text = NULL;
	struct error err = {0};

	if (r->argv)
		r->push.fallback = meta_program_name(r->argv[0]);
	if (r->front)
		caller_set_options(r->front, &r->live);
	if (r->output.verbose)
		log_set_level(r->output.verbose > 1 ? LOG_DEBUG : LOG_INFO);
	if (filter_options_resolve(&r->filter, NULL, &err))
		return command_fail(command_record.name, EXIT_REFUSED, &err);
	filter_text = filter_options_describe(&r->filter);
	options.filter_text = filter_text;
	return pipeline_run(&options);
}

/* With a caller, leaves opening to it. */
static int record_and_open(struct record *r, char **argv)
{
	int status = record(r, argv);

	if (r->open && !r->front && status != EXIT_REFUSED && status != EXIT_NOT_EXECUTABLE &&
	    status != EXIT_NOT_FOUND)
		view_program_open(r->output.path);
	return status;
}

static int run_for(struct caller *front, int argc, char **argv)
{
	struct record r = {.front = front};
	struct error err = {0};
	int ret;

	live_options_init(&r.live);
	output_options_init(&r.output);
	push_options_init(&r.push);
	ret = parse(&r, argc, argv, &err);
	ret = ret ? command_fail_usage(command_record.name, &err) : record_and_open(&r, argv);
	live_options_release(&r.live);
	filter_options_release(&r.filter);
	output_options_release(&r.output);
	iteration_options_release(&r.iterations);
	push_options_release(&r.push);
	return ret;
}

static int run(int argc, char **argv)
{
	return run_for(NULL, argc, argv);
}

const struct command command_record = {
	.name = "record",
	.summary = "record a command, or the whole machine",
	.options = make_table,
	.run = run,
	.run_for = run_for,
};
