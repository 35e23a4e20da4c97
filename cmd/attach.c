/* SPDX-License-Identifier: MIT */
/* prof attach: record running processes. */
#include <errno.h>

#include "cmd/command.h"
#include "cmd/options/filter_options.h"
#include "cmd/elevate/front_end.h"
#include "cmd/options/live_options.h"
#include "cmd/options/output_options.h"
#include "cmd/run/pipeline.h"
#include "lib/base/cleanup.h"
#include "lib/base/log.h"
#include "lib/live/process/targets.h"

extern const struct command command_attach;

struct attach {
	struct front_end *front; /* NULL: there is none */
	struct filter_options filter;
	struct live_options live;
	struct output_options output;
};

static void make_table(struct option_table *t, void *ctx)
{
	static const struct option_row which[] = {{.help = "Which processes:"}, {0}};
	static const struct option_row how[] = {{.help = "\nRecording:"}, {0}};
	struct attach *a = ctx;

	t->usage =
		"Usage: prof attach [OPTION]... -p PID[,PID...]\n"
		"Record processes that run already, and their descendants, until they have ended,\n"
		"Ctrl-C is pressed, or the time is over. They are neither stopped nor changed.\n"
		"\n";
	option_table_add(t, which, NULL);
	option_table_add(t, target_options, &a->filter);
	option_table_add(t, how, NULL);
	live_options_table(t, &a->live);
	option_table_add(t, filter_options, &a->filter);
	output_options_table(t, &a->output);
	option_table_add(t, option_help, NULL);
	t->after = "\n"
		   "Exit status: 0, 125 if prof failed, 2 for wrong use.\n";
}

/* -ECANCELED: --help was printed. */
static int parse(struct attach *a, int argc, char **argv, struct error *err)
{
	int ret = command_parse(argc, argv, make_table, a, err);

	if (!ret)
		ret = instrument_settings_judge(&a->live.instruments, err);
	if (!ret)
		ret = output_options_check(&a->output, err);
	if (!ret && optind < argc)
		ret = error_text(err, -EINVAL,
				 "unexpected argument %s: processes are given by --pid",
				 argv[optind]);
	if (!ret && !a->filter.is_limited)
		ret = error_text(err, -EINVAL, "no process to attach to: give --pid");
	return ret;
}

static int record(struct attach *a, char **argv)
{
	struct targets targets = {0};
	struct pipeline_options options = {
		.command = command_attach.name,
		.live = &a->live,
		.filter = &a->filter.filter,
		.output = &a->output,
		.own_argv = argv,
		.front = a->front,
		.targets = &targets,
	};
	struct error err = {0};
	int ret;

	if (a->front)
		front_end_set_options(a->front, &a->live);
	if (a->output.verbose)
		log_set_level(a->output.verbose > 1 ? LOG_DEBUG : LOG_INFO);
	if (filter_options_resolve(&a->filter, &targets, &err))
		ret = command_fail(command_attach.name, EXIT_REFUSED, &err);
	else
		ret = pipeline_run(&options);
	targets_release(&targets);
	return ret;
}

static int run_for(struct front_end *front, int argc, char **argv)
{
	struct attach a = {.front = front};
	struct error err = {0};
	int ret;

	live_options_init(&a.live);
	output_options_init(&a.output);
	ret = parse(&a, argc, argv, &err);
	if (ret == -ECANCELED)
		ret = 0;
	else if (ret)
		ret = command_fail_usage(command_attach.name, &err);
	else
		ret = record(&a, argv);
	live_options_release(&a.live);
	filter_options_release(&a.filter);
	output_options_release(&a.output);
	return ret;
}

static int run(int argc, char **argv)
{
	return run_for(NULL, argc, argv);
}

const struct command command_attach = {
	.name = "attach",
	.summary = "record processes that run already",
	.options = make_table,
	.run = run,
	.run_for = run_for,
};
