/* SPDX-License-Identifier: MIT */
/*
 * prof top: shows current activity. A child process records and pipes its records to prof-browse.
 * This process becomes prof-browse, because it owns the terminal.
 */
#include <signal.h>
#include <sys/prctl.h>

#include "cmd/command.h"
#include "cmd/elevate/caller.h"
#include "cmd/options/top_options.h"
#include "cmd/run/child_programs.h"
#include "cmd/run/pipeline.h"

extern const struct command command_top;

/* Buffer of the pipe for a slow terminal. */
#define PIPE_BYTES (1 << 20)

static int record(struct top_options *o, struct caller *front, char **argv)
{
	struct targets targets = {0};
	struct pipeline_options options = {
		.command = command_top.name,
		.live = &o->live,
		.filter = &o->filter.filter,
		.output = &o->output,
		.own_argv = argv,
		.front = front,
	};
	_cleanup_free_ char *filter_text = NULL;
	struct error err = {0};
	int ret;

	if (front)
		caller_set_options(front, &o->live);
	if (o->output.verbose)
		log_set_level(o->output.verbose > 1 ? LOG_DEBUG : LOG_INFO);
	o->filter.filter.all = !o->filter.is_limited;
	if (filter_options_resolve(&o->filter, o->filter.is_limited ? &targets : NULL, &err)) {
		ret = command_fail(command_top.name, EXIT_REFUSED, &err);
	} else {
		if (targets.rows.count || targets.group)
			options.targets = &targets;
		filter_text = filter_options_describe(&o->filter);
		options.filter_text = filter_text;
		ret = pipeline_run(&options);
	}
	targets_release(&targets);
	return ret;
}

static int run_for(struct caller *front, int argc, char **argv)
{
	struct top_options o;
	struct error err = {0};
	int ret;

	top_options_init(&o);
	ret = top_options_parse(&o, argc, argv, &err);
	ret = ret ? command_fail_usage(command_top.name, &err) : record(&o, front, argv);
	top_options_release(&o);
	return ret;
}

/* Executes the viewer. */
static int show(int fd, pid_t recorder, int argc, char **argv)
{
	static char command[] = COMMAND_TOP;
	char *descriptor = xasprintf("%d", fd), *pid = xasprintf("%d", (int)recorder);
	VEC(char *) words = {0};

	vec_push(&words, command);
	vec_push(&words, descriptor);
	vec_push(&words, pid);
	for (int i = 0; i < argc; i++)
		vec_push(&words, argv[i]);
	return companion_program_run(&program_browse, command_top.name, (int)words.count,
				     words.items);
}

/*
 * Becomes the recorder, in a separate process group, out of reach of the terminal's signals; sudo
 * must stay in the terminal's group to prompt for a password.
 */
static void become_recorder(struct top_options *o, pid_t parent, int ends[2], char **argv)
{
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(EXIT_REFUSED);
	if (geteuid() == 0)
		setpgid(0, 0);
	dup2(ends[1], STDOUT_FILENO);
	close(ends[0]);
	close(ends[1]);
	exit(record(o, NULL, argv));
}

static int start(struct top_options *o, int argc, char **argv)
{
	pid_t self = getpid(), child;
	struct error err = {0};
	int ends[2];

	if (!companion_program_is_installed(&program_browse))
		return companion_program_run(&program_browse, command_top.name, 0, NULL);
	if (pipe2(ends, O_CLOEXEC)) {
		error_set(&err, -errno, "cannot create a pipe");
		return command_fail(command_top.name, EXIT_REFUSED, &err);
	}
	(void)fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES);
	child = fork();
	if (child == 0)
		become_recorder(o, self, ends, argv);
	close(ends[1]);
	if (child < 0) {
		error_set(&err, -errno, "cannot start a process");
		return command_fail(command_top.name, EXIT_REFUSED, &err);
	}
	(void)fcntl(ends[0], F_SETFD, 0);
	return show(ends[0], child, argc, argv);
}

static int run(int argc, char **argv)
{
	struct top_options o;
	struct error err = {0};
	int ret;

	top_options_init(&o);
	ret = top_options_parse(&o, argc, argv, &err);
	ret = ret ? command_fail_usage(command_top.name, &err) : start(&o, argc, argv);
	top_options_release(&o);
	return ret;
}

const struct command command_top = {
	.name = "top",
	.summary = "show what runs now, in the terminal",
	.options = top_options_table,
	.run = run,
	.run_for = run_for,
};
