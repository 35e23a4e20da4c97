/* SPDX-License-Identifier: MIT */
#include "cmd/elevate/elevate_signals.h"

#include <sys/signalfd.h>

/* Shorter than the interval between two keystrokes or two commands of a script. */
#define REPEAT_NS (50ull * 1000 * 1000)

static void remember_ignored(sigset_t *ignored)
{
	struct sigaction action;

	sigemptyset(ignored);
	for (int sig = 1; sig < NSIG; sig++) {
		if (sigaction(sig, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
			sigaddset(ignored, sig);
	}
}

int signals_init(struct signals *s, struct error *err)
{
	sigset_t watched;

	*s = (struct signals){.fd = -1};
	remember_ignored(&s->inherited_ignored);
	sigemptyset(&watched);
	sigaddset(&watched, SIGINT);
	sigaddset(&watched, SIGTERM);
	sigaddset(&watched, SIGQUIT);
	sigaddset(&watched, SIGUSR1);
	sigaddset(&watched, SIGUSR2);
	/* SIGHUP stays ignored under nohup. */
	if (!sigismember(&s->inherited_ignored, SIGHUP))
		sigaddset(&watched, SIGHUP);
	sigprocmask(SIG_BLOCK, &watched, &s->inherited_mask);
	/* The kernel discards an ignored signal, but queues a blocked one. */
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGQUIT, SIG_DFL);
	signal(SIGUSR1, SIG_DFL);
	signal(SIGUSR2, SIG_DFL);
	/*
	 * Without these signals, a closed pipe or a file size limit makes write() fail, which is
	 * reported.
	 */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	/* With SIGCHLD ignored, the kernel would discard the command's exit status. */
	signal(SIGCHLD, SIG_DFL);
	s->fd = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->fd < 0)
		return error_set(err, -errno, "cannot receive signals");
	return 0;
}

bool signals_next(struct signals *s, struct signal_event *event)
{
	struct signalfd_siginfo info;

	while (read(s->fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		int number = (int)info.ssi_signo;
		pid_t sender = (pid_t)info.ssi_pid;
		uint64_t now = clock_monotonic_ns();
		bool from_terminal = info.ssi_code == SI_KERNEL;
		bool repeated = !from_terminal && !signal_is_request(number) &&
				number == s->last_signal && sender == s->last_sender &&
				now - s->last_ns < REPEAT_NS;

		s->last_signal = number;
		s->last_sender = sender;
		s->last_ns = now;
		if (repeated)
			continue;
		*event = (struct signal_event){.signal = number, .from_terminal = from_terminal};
		return true;
	}
	return s->next_elsewhere && s->next_elsewhere(s->ctx, event);
}

void signals_restore(const struct signals *s)
{
	for (int sig = 1; sig < NSIG; sig++)
		signal(sig, sigismember(&s->inherited_ignored, sig) == 1 ? SIG_IGN : SIG_DFL);
	sigprocmask(SIG_SETMASK, &s->inherited_mask, NULL);
}

void signals_release(struct signals *s)
{
	fd_close(s->fd);
	s->fd = -1;
}
