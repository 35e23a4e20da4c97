/* SPDX-License-Identifier: MIT */
#include "cmd/run/supervisor.h"

#include <poll.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

#include "cmd/command.h"

#define NS_PER_SECOND 1000000000ull
#define NS_PER_MS 1000000ull
/* Time for a command to end after a signal, and after the SIGTERM of --kill. */
#define SIGNAL_GRACE_NS (1 * NS_PER_SECOND)
#define KILL_GRACE_NS (2 * NS_PER_SECOND)

int supervisor_init(struct supervisor *s, struct signals *signals, struct error *err)
{
	*s = (struct supervisor){.signals = signals};
	s->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (s->timer_fd < 0)
		return error_set(err, -errno, "cannot create a timer");
	return 0;
}

void supervisor_release(struct supervisor *s)
{
	fd_close(s->timer_fd);
	s->timer_fd = -1;
}

int supervisor_start(struct supervisor *s, uint64_t duration_ns, struct error *err)
{
	struct itimerspec at = {
		.it_value.tv_sec = (time_t)(duration_ns / NS_PER_SECOND),
		.it_value.tv_nsec = (long)(duration_ns % NS_PER_SECOND),
	};

	/* A duration of 0 disarms the timer: no limit. */
	if (timerfd_settime(s->timer_fd, 0, &at, NULL))
		return error_set(err, -errno, "cannot set a timer");
	return 0;
}

static void stop(struct supervisor *s, enum stop_reason reason)
{
	if (s->reason != STOP_NOT_YET)
		return;
	s->reason = reason;
	s->stop_ns = clock_monotonic_ns();
}

static bool child_has_ended(struct supervisor *s)
{
	if (s->child && !s->child_ended && child_poll(s->child, &s->wait_status) == CHILD_EXITED)
		s->child_ended = true;
	return s->child_ended;
}

static void handle_signal(struct supervisor *s, const struct signal_event *event)
{
	/* A hang-up takes the terminal from both, so do not wait for the command. */
	bool is_key = event->from_terminal && event->signal != SIGHUP;

	if (signal_is_request(event->signal)) {
		s->requests[event->signal == SIGUSR2]++;
		return;
	}
	if (s->child && is_key && !s->interrupted) {
		s->interrupted = true;
		return;
	}
	if (s->child && !event->from_terminal)
		child_kill(s->child, event->signal);
	s->stop_signal = event->signal;
	stop(s, STOP_SIGNAL);
}

bool supervisor_poll(struct supervisor *s)
{
	struct signal_event event;
	uint64_t expirations;

	if (s->reason != STOP_NOT_YET)
		return true;
	/* Check the child first: its own end takes precedence over simultaneous events. */
	if (child_has_ended(s))
		stop(s, STOP_CHILD_ENDED);
	if (s->targets && targets_have_ended(s->targets))
		stop(s, STOP_TARGETS_ENDED);
	/*
	 * Consume signals received before an ended child is noticed: they do not concern finishing.
	 */
	while (signals_next(s->signals, &event)) {
		if (s->reason == STOP_NOT_YET)
			handle_signal(s, &event);
	}
	if (read(s->timer_fd, &expirations, sizeof(expirations)) > 0)
		stop(s, STOP_DURATION);
	return s->reason != STOP_NOT_YET;
}

void supervisor_end(struct supervisor *s)
{
	stop(s, STOP_DURATION);
}

void supervisor_next(struct supervisor *s, struct child *child)
{
	s->child = child;
	s->child_ended = false;
	s->reason = STOP_NOT_YET;
	s->stop_ns = 0;
}

void supervisor_abandon(struct supervisor *s)
{
	stop(s, STOP_ABANDONED);
}

unsigned int supervisor_finish_signals(struct supervisor *s)
{
	struct signal_event event;

	while (signals_next(s->signals, &event))
		s->finish_signals += !signal_is_request(event.signal);
	return s->finish_signals;
}

/* Waits until the child has ended, the time is up, or another signal arrives. */
static void wait_for_child(struct supervisor *s, uint64_t grace_ns)
{
	uint64_t end = clock_monotonic_ns() + grace_ns, now;

	while (!child_has_ended(s) && (now = clock_monotonic_ns()) < end) {
		struct pollfd fds[] = {
			{.fd = child_fd(s->child), .events = POLLIN},
			{.fd = s->signals->fd, .events = POLLIN},
		};

		poll(fds, 2, (int)((end - now + NS_PER_MS - 1) / NS_PER_MS));
		if (supervisor_finish_signals(s))
			return;
	}
}

static void end_or_await_child(struct supervisor *s)
{
	if (s->reason == STOP_SIGNAL) {
		wait_for_child(s, SIGNAL_GRACE_NS);
	} else if (s->reason == STOP_DURATION && s->kill_at_end) {
		child_kill(s->child, SIGTERM);
		wait_for_child(s, KILL_GRACE_NS);
		if (!child_has_ended(s)) {
			child_kill(s->child, SIGKILL);
			wait_for_child(s, KILL_GRACE_NS);
		}
	}
}

void supervisor_settle(struct supervisor *s)
{
	if (!s->child || s->child_ended)
		return;
	end_or_await_child(s);
	if (s->child_ended)
		s->stop_ns = clock_monotonic_ns();
}

int supervisor_exit_status(const struct supervisor *s)
{
	if (!s->child || s->reason == STOP_DURATION)
		return 0;
	if (!s->child_ended)
		return s->stop_signal ? EXIT_SIGNAL_BASE + s->stop_signal : 0;
	if (WIFSIGNALED(s->wait_status))
		return EXIT_SIGNAL_BASE + WTERMSIG(s->wait_status);
	return WEXITSTATUS(s->wait_status);
}
