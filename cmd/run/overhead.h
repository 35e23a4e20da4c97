/* SPDX-License-Identifier: MIT */
/* Keeps what recording costs below --max-overhead: takes fewer samples, and in the end none. */
#ifndef PROF_CMD_RUN_OVERHEAD_H
#define PROF_CMD_RUN_OVERHEAD_H

#include <stdbool.h>
#include <stdint.h>

struct pipeline;

/* Zeroed at first. */
struct overhead {
	uint64_t checked_ns, spent_ns; /* when, and what had been spent by then; 0: never */
	bool has_begun; /* a second has passed */
};

/* Looks once a second, in the kernel and at prof's own time. Call often. */
void overhead_poll(struct pipeline *p);

#endif
