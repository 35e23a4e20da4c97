/* SPDX-License-Identifier: MIT */
/* prof attach: record running processes. */
#include <errno.h>
#include <stdio.h>

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

static const struct option longs[] = {
	TARGET_LONG_OPTIONS,
	LIVE_LONG_OPTIONS,
	FILTER_LONG_OPTIONS,
	OUTPUT_LONG_OPTIONS,
	{"help", no_argument, NULL, 'h'},
	{0},
};

struct attach {
	struct front_end *front; /* NULL: there is none */
	struct filter_options filter;
	struct live_options live;
	struct output_options output;
};

static void print_help(void)
{
	_cleanup_(strbuf_release) struct strbuf live = {0}, output = {0};

	live_options_help(&live);
	output_options_help(&output);
	printf("Usage: prof attach [OPTION]... -p PID[,PID...]\n"
	       "Record processes that run already, and their descendants, until they have ended,\n"
	       "Ctrl-C is pressed, or the time is over. They are neither stopped nor changed.\n"
	       "\n"
	       "Which processes:\n"
	       "%s\n"
	       "Recording:\n"
	       "%s%s\n"
	       "Output:\n"
	       "%s"
	       "  -h, --help             show this and exit\n"
	       "\n"
	       "Exit status: 0, 125 where prof failed, 2 for wrong use.\n",
	       target_options_help, strbuf_text(&live), filter_options_help, strbuf_text(&output));
}

/* -ECANCELED: --help was printed. */
static int parse(struct attach *a, int argc, char **argv, struct error *err)
{
	_cleanup_(live_getopt_release) struct live_getopt table = {0};
	int opt, ret;

	live_options_getopt(&table, "+:p:" LIVE_SHORT_OPTIONS OUTPUT_SHORT_OPTIONS "h", longs);
	while ((opt = options_next(argc, argv, strbuf_text(&table.shorts), table.longs.items,
				   err)) != -1) {
		if (opt == 'h') {
			print_help();
			return -ECANCELED;
		}
		if (opt == '?')
			return -EINVAL;
		ret = filter_options_set(&a->filter, opt, optarg, err);
		if (ret == -ENOENT)
			ret = live_options_set(&a->live, opt, optarg, err);
		if (ret == -ENOENT)
			ret = output_options_set(&a->output, opt, optarg, err);
		if (ret)
			return ret;
	}
	ret = live_options_check(&a->live, err);
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
	.run = run,
	.run_for = run_for,
};
