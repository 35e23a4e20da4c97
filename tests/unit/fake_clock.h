/* SPDX-License-Identifier: MIT */
/*
 * A clock that only the test moves. Replaces clock_gettime(CLOCK_MONOTONIC), poll() and
 * epoll_wait() in the code under test, from fake_clock_start() to fake_clock_stop().
 */
#ifndef PROF_TESTS_UNIT_FAKE_CLOCK_H
#define PROF_TESTS_UNIT_FAKE_CLOCK_H

#include <stdint.h>

/*
 * The next `timeouts` waits with a timeout that find nothing ready use it up: the clock moves on by
 * it, and no real time passes. Later ones last until something is ready, and the clock stands
 * still.
 */
void fake_clock_start(unsigned int timeouts);
void fake_clock_stop(void);
/* Nanoseconds that have passed since fake_clock_start(). */
uint64_t fake_clock_passed(void);
/* Moves the clock on. */
void fake_clock_pass(uint64_t ns);

#endif
