/* SPDX-License-Identifier: MIT */
#include "cmd/browse/top.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/browse/programs.h"
#include "cmd/command.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"

static const char name[] = "top";

/* The recorder has so long to end. */
#define END_STEPS 100
#define END_STEP_MS 50

static volatile sig_atomic_t is_interrupted;

static void on_signal(int signal)
{
	(void)signal;
	is_interrupted = 1;
}

bool top_is_interrupted(void)
{
	return is_interrupted;
}

static void handle_signals(void)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	const struct sigaction action = {.sa_handler = on_signal};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		sigaction(numbers[i], &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

void top_filter(const struct top *t, uint64_t until_ns, struct query_filter *filter)
{
	filter->from = until_ns > t->options.window_ns ? until_ns - t->options.window_ns : 0;
	filter->until = until_ns;
}

void top_read(struct top *t)
{
	int ret = moving_read(t->moving, &t->err);

	t->has_ended = ret <= 0;
}

/* Ends the recorder. Returns the exit status. */
static int end(struct top *t, int status)
{
	int recorder = 0;

	kill(t->recorder, SIGTERM);
	/* Its last records have room. */
	for (int i = 0; i < END_STEPS && !t->has_ended; i++) {
		struct pollfd ready = {.fd = t->fd, .events = POLLIN};

		poll(&ready, 1, END_STEP_MS);
		top_read(t);
	}
	close(t->fd);
	while (waitpid(t->recorder, &recorder, 0) < 0 && errno == EINTR)
		;
	if (t->err.code)
		return command_fail(name, EXIT_REFUSED, &t->err);
	/* It has said why. */
	if (!status && t->has_ended && WIFEXITED(recorder) && WEXITSTATUS(recorder) &&
	    WEXITSTATUS(recorder) < EXIT_SIGNAL_BASE)
		status = WEXITSTATUS(recorder);
	return status;
}

/*
 * Debug information comes and goes in large buffers, in threads that live for moments: what they
 * free goes back at once, hour after hour.
 */
static void limit_memory(void)
{
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, 128 << 10);
	mallopt(M_TRIM_THRESHOLD, 1 << 20);
}

static int show(struct top *t, const char *const *words)
{
	const struct identity owner = identity_of_invoker();
	struct moving_options options = {
		.keep_ns = t->options.window_ns + t->options.every_ns,
		.dirs = t->options.output.debug_dirs.items,
		.no_symbols = t->options.output.no_symbols,
	};
	struct identity before;
	uint64_t fd, pid;
	int status;

	if (!text_to_u64(words[0], 10, &fd) || !text_to_u64(words[1], 10, &pid))
		return EXIT_USAGE;
	t->fd = (int)fd;
	t->recorder = (pid_t)pid;
	(void)fcntl(t->fd, F_SETFD, FD_CLOEXEC);
	(void)fcntl(t->fd, F_SETFL, O_NONBLOCK);
	/* Ask no server for debug files: the view would stand still meanwhile. */
	unsetenv("DEBUGINFOD_URLS");
	/* Root reads nothing that the invoking user may not read. */
	before = identity_assume_files(&owner);
	if (before.failure)
		return EXIT_REFUSED;
	t->moving = moving_new(t->fd, &options);
	handle_signals();
	limit_memory();
	status = t->options.batch ? top_batch(t) : top_screen(t);
	status = end(t, status);
	moving_free(t->moving);
	identity_restore_files(&before);
	return status;
}

int top_show(int argc, char **argv)
{
	struct top t = {0};
	struct error err = {0};
	int ret;

	top_options_init(&t.options);
	ret = top_options_parse(&t.options, argc - 2, argv + 2, &err);
	ret = ret ? command_fail_usage(name, &err) : show(&t, (const char *const *)argv);
	top_options_release(&t.options);
	return ret;
}
