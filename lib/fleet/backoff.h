/* SPDX-License-Identifier: MIT */
/* Times between attempts at a server that fails: longer each time, and never all at once. */
#ifndef PROF_LIB_FLEET_BACKOFF_H
#define PROF_LIB_FLEET_BACKOFF_H

#include <stdint.h>

/* The longest time is this many times the first one. */
#define BACKOFF_RATIO 300
#define BACKOFF_FIRST_NS 1000000000ull

/* Zeroed, but for first_ns, nothing has failed. */
struct backoff {
	uint64_t first_ns;
	uint64_t failures; /* in a row */
	uint64_t due_ns; /* when to try again; CLOCK_MONOTONIC; 0: at once */
};

/* Chooses when to try again; at_least_ns is what the server asks for. `random`: any number. */
void backoff_fail(struct backoff *b, uint64_t now_ns, uint64_t at_least_ns, uint64_t random);
void backoff_succeed(struct backoff *b);

#endif
