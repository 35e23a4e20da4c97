/* SPDX-License-Identifier: MIT */
/* prof attach: record processes that run already. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/live_options.h"
#include "cmd/output_options.h"
#include "cmd/pipeline.h"
#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/log.h"
#include "lib/base/text.h"
#include "lib/live/targets.h"

static const struct option longs[] = {
	{"pid", required_argument, NULL, 'p'},
	{"comm", required_argument, NULL, OPT_COMM},
	{"pidfile", required_argument, NULL, OPT_PIDFILE},
	{"no-children", no_argument, NULL, OPT_NO_CHILDREN},
	LIVE_LONG_OPTIONS,
	OUTPUT_LONG_OPTIONS,
	{"help", no_argument, NULL, 'h'},
	{0},
};

struct attach {
	struct live_options live;
	struct output_options output;
	/* What to look for, once the whole command line is known to be right. */
	VEC(pid_t) pids;
	VEC(const char *) names, pidfiles;
};

static void print_help(void)
{
	printf("Usage: prof attach [OPTION]... -p PID[,PID...]\n"
	       "Record processes that run already, and their descendants, until they have ended,\n"
	       "Ctrl-C is pressed, or the time is over. They are neither stopped nor changed.\n"
	       "\n"
	       "Which processes:\n"
	       "  -p, --pid LIST         those with these pids; may be repeated\n"
	       "  --comm NAME            those with this name; may be repeated\n"
	       "  --pidfile FILE         the one whose pid is in FILE; may be repeated\n"
	       "  --no-children          not their descendants\n"
	       "\n"
	       "Recording:\n"
	       "%s\n"
	       "Output:\n"
	       "%s"
	       "  -h, --help             show this and exit\n"
	       "\n"
	       "Exit status: 0, 125 where prof failed, 2 for wrong use.\n",
	       live_options_help, output_options_help);
}

static int add_pids(struct attach *a, const char *value, struct error *err)
{
	_cleanup_free_ char *list = xstrdup(value);
	char *rest = list, *word;

	while ((word = strsep(&rest, ","))) {
		uint64_t pid;

		if (!text_to_u64(word, 10, &pid) || !pid || pid > 0x7fffffff)
			return error_text(err, -EINVAL, "--pid %s: not a list of pids", value);
		vec_push(&a->pids, (pid_t)pid);
	}
	return 0;
}

/* -ENOENT: none of these. */
static int set(struct attach *a, int opt, const char *value, struct error *err)
{
	switch (opt) {
	case 'p':
		return add_pids(a, value, err);
	case OPT_COMM:
		if (!*value)
			return error_text(err, -EINVAL, "--comm: the name must not be empty");
		vec_push(&a->names, value);
		return 0;
	case OPT_PIDFILE:
		if (!*value)
			return error_text(err, -EINVAL, "--pidfile: the name must not be empty");
		vec_push(&a->pidfiles, value);
		return 0;
	case OPT_NO_CHILDREN:
		a->live.skip_children = true;
		return 0;
	default:
		return -ENOENT;
	}
}

/* -ECANCELED: --help was printed. */
static int parse(struct attach *a, int argc, char **argv, struct error *err)
{
	int opt, ret;

	while ((opt = options_next(argc, argv, "+:p:" LIVE_SHORT_OPTIONS OUTPUT_SHORT_OPTIONS "h",
				   longs, err)) != -1) {
		if (opt == 'h') {
			print_help();
			return -ECANCELED;
		}
		if (opt == '?')
			return -EINVAL;
		ret = set(a, opt, optarg, err);
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
		ret = error_text(err, -EINVAL, "unexpected argument %s", argv[optind]);
	if (!ret && !a->pids.count && !a->names.count && !a->pidfiles.count)
		ret = error_text(err, -EINVAL, "no process to attach to: give --pid");
	return ret;
}

static int find_targets(const struct attach *a, struct targets *targets, struct error *err)
{
	int ret = 0;

	vec_for_each(&a->pids, const pid_t *, pid) {
		if (!ret)
			ret = targets_add(targets, *pid, err);
	}
	vec_for_each(&a->names, const char *const *, name) {
		if (!ret)
			ret = targets_add_comm(targets, *name, err);
	}
	vec_for_each(&a->pidfiles, const char *const *, path) {
		if (!ret)
			ret = targets_add_pidfile(targets, *path, err);
	}
	return ret;
}

static int record(const struct attach *a, char **argv)
{
	struct targets targets = {0};
	struct pipeline_options options = {
		.command = command_attach.name,
		.live = &a->live,
		.output = &a->output,
		.own_argv = argv,
		.targets = &targets,
	};
	struct error err = {0};
	int ret;

	if (a->output.verbose)
		log_set_level(a->output.verbose > 1 ? LOG_DEBUG : LOG_INFO);
	if (find_targets(a, &targets, &err))
		ret = command_fail(command_attach.name, EXIT_REFUSED, &err);
	else
		ret = pipeline_run(&options);
	targets_release(&targets);
	return ret;
}

static int run(int argc, char **argv)
{
	struct attach a = {0};
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
	vec_release(&a.pids);
	vec_release(&a.names);
	vec_release(&a.pidfiles);
	output_options_release(&a.output);
	return ret;
}

const struct command command_attach = {
	.name = "attach",
	.summary = "record processes that run already",
	.run = run,
};
