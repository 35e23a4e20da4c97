/* SPDX-License-Identifier: MIT */
/* Exponential backoff with jitter for a server that fails. */
#pragma once

#include <stdint.h>

/* Ratio of the longest delay to the first. */
#define BACKOFF_RATIO 300
#define BACKOFF_FIRST_NS 1000000000ull

/* Zeroed except for first_ns, it is the state before any failure. */
struct backoff {
	uint64_t first_ns;
	uint64_t failures; /* consecutive failures */
	uint64_t due_ns; /* CLOCK_MONOTONIC time of the next attempt; 0: at once */
};

/*
 * Sets the time of the next attempt; at_least_ns is the server's Retry-After. `random`: any number.
 */
void backoff_fail(struct backoff *b, uint64_t now_ns, uint64_t at_least_ns, uint64_t random);
void backoff_succeed(struct backoff *b);
