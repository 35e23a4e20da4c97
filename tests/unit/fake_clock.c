/* SPDX-License-Identifier: MIT */
#include "tests/unit/fake_clock.h"

#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_MS 1000000ull
#define NS_PER_SECOND (1000 * NS_PER_MS)
/* Not 0, which the code under test may take for "not yet". */
#define START_NS (1000 * NS_PER_SECOND)

/* Other threads of the code under test read the clock, too. */
static _Atomic uint64_t now_ns;
static atomic_bool is_fake;
static unsigned int timeouts_left;

void fake_clock_start(unsigned int timeouts)
{
	timeouts_left = timeouts;
	now_ns = START_NS;
	is_fake = true;
}

void fake_clock_stop(void)
{
	is_fake = false;
}

uint64_t fake_clock_passed(void)
{
	return now_ns - START_NS;
}

void fake_clock_pass(uint64_t ns)
{
	now_ns += ns;
}

/* Definitions in the program replace those of libc. */
int clock_gettime(clockid_t id, struct timespec *time)
{
	uint64_t now = now_ns;

	if (!is_fake || id != CLOCK_MONOTONIC)
		return (int)syscall(SYS_clock_gettime, id, time);
	time->tv_sec = (time_t)(now / NS_PER_SECOND);
	time->tv_nsec = (long)(now % NS_PER_SECOND);
	return 0;
}

static int really_poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	struct timespec timeout = {timeout_ms / 1000, timeout_ms % 1000 * (long)NS_PER_MS};

	return (int)syscall(SYS_ppoll, fds, count, timeout_ms < 0 ? NULL : &timeout, NULL, 8);
}

static int really_epoll_wait(int fd, struct epoll_event *events, int count, int timeout_ms)
{
	return (int)syscall(SYS_epoll_pwait, fd, events, count, timeout_ms, NULL, 8);
}

/* Tells whether a wait is over, given its first result. */
static bool is_over(int ready, int timeout_ms)
{
	if (ready || timeout_ms == 0)
		return true;
	if (timeout_ms < 0 || timeouts_left == 0)
		return false;
	timeouts_left--;
	fake_clock_pass((uint64_t)timeout_ms * NS_PER_MS);
	return true;
}

int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	int ready;

	if (!is_fake)
		return really_poll(fds, count, timeout_ms);
	ready = really_poll(fds, count, 0);
	return is_over(ready, timeout_ms) ? ready : really_poll(fds, count, -1);
}

int epoll_wait(int fd, struct epoll_event *events, int count, int timeout_ms)
{
	int ready;

	if (!is_fake)
		return really_epoll_wait(fd, events, count, timeout_ms);
	ready = really_epoll_wait(fd, events, count, 0);
	return is_over(ready, timeout_ms) ? ready : really_epoll_wait(fd, events, count, -1);
}
