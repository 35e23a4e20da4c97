/* SPDX-License-Identifier: MIT */
/* prof record: run a command and record it. */
#include <errno.h>
#include <stdio.h>

#include "cmd/command.h"
#include "cmd/live_options.h"
#include "cmd/output_options.h"
#include "cmd/pipeline.h"
#include "lib/base/log.h"

static const struct option longs[] = {
	LIVE_LONG_OPTIONS,
	COMMAND_LONG_OPTIONS,
	OUTPUT_LONG_OPTIONS,
	{"help", no_argument, NULL, 'h'},
	{0},
};

static void print_help(void)
{
	printf("Usage: prof record [OPTION]... [--] COMMAND [ARGUMENT]...\n"
	       "Run a command and record where it and its descendants spend their time.\n"
	       "\n"
	       "Recording:\n"
	       "%s%s\n"
	       "Output:\n"
	       "%s"
	       "  -h, --help             show this and exit\n"
	       "\n"
	       "Exit status: the command's own, 128 + n where signal n ended it, 125 where prof\n"
	       "failed, 126 or 127 where the command could not be run, 2 for wrong use.\n",
	       live_options_help, command_options_help, output_options_help);
}

/* -ECANCELED: --help was printed. */
static int parse(int argc, char **argv, struct live_options *live, struct output_options *output,
		 struct error *err)
{
	int opt, ret;

	while ((opt = options_next(argc, argv, "+:" LIVE_SHORT_OPTIONS OUTPUT_SHORT_OPTIONS "h",
				   longs, err)) != -1) {
		if (opt == 'h') {
			print_help();
			return -ECANCELED;
		}
		if (opt == '?')
			return -EINVAL;
		ret = live_options_set(live, opt, optarg, err);
		if (ret == -ENOENT)
			ret = output_options_set(output, opt, optarg, err);
		if (ret)
			return ret;
	}
	ret = live_options_check(live, err);
	if (!ret)
		ret = output_options_check(output, err);
	if (!ret && optind >= argc)
		ret = error_text(err, -EINVAL, "no command to record");
	return ret;
}

static int run(int argc, char **argv)
{
	struct live_options live;
	struct output_options output;
	struct error err = {0};
	int ret;

	live_options_init(&live);
	output_options_init(&output);
	ret = parse(argc, argv, &live, &output, &err);
	if (ret == -ECANCELED) {
		ret = 0;
	} else if (ret) {
		ret = command_fail_usage(command_record.name, &err);
	} else {
		struct pipeline_options options = {
			.command = command_record.name,
			.live = &live,
			.output = &output,
			.own_argv = argv,
			.argv = argv + optind,
		};

		if (output.verbose)
			log_set_level(output.verbose > 1 ? LOG_DEBUG : LOG_INFO);
		ret = pipeline_run(&options);
	}
	output_options_release(&output);
	return ret;
}

const struct command command_record = {
	.name = "record",
	.summary = "run a command and record it",
	.run = run,
};
