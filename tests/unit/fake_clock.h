/* SPDX-License-Identifier: MIT */
/*
 * A clock that only the test moves. Replaces clock_gettime(CLOCK_MONOTONIC), poll() and
 * epoll_wait() for the code under test, from fake_clock_start() to fake_clock_stop().
 */
#pragma once

#include <stdint.h>

/*
 * Lets the next `timeouts` waits expire if nothing is ready: the clock moves on by their timeout,
 * without real time passing. Later waits last until something is ready, and the clock stands still.
 */
void fake_clock_start(unsigned int timeouts);
void fake_clock_stop(void);
/* Returns the ns since fake_clock_start(). */
uint64_t fake_clock_passed(void);
/* Moves the clock on. */
void fake_clock_pass(uint64_t ns);
