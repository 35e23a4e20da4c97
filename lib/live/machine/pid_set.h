/* SPDX-License-Identifier: MIT */
/*
 * The processes whose mapping events matter. A pid stays for two more rounds after its exit:
 * events from before it may still be on their way in another ring.
 */
#ifndef PROF_LIB_LIVE_MACHINE_PID_SET_H
#define PROF_LIB_LIVE_MACHINE_PID_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/index.h"
#include "lib/base/vec.h"

struct pid_row {
	uint32_t pid;
	uint64_t since; /* what was before it is not the set's affair; 0: everything is */
	uint64_t exit_round; /* 0: alive */
};

struct pid_leaving {
	uint32_t pid;
	uint64_t round;
};

struct pid_set {
	VEC(struct pid_row) rows;
	VEC(uint32_t) free_rows;
	VEC(struct pid_leaving) leaving; /* in order of rounds */
	struct index index;
	uint64_t round;
};

/* A zeroed struct is an empty set. */
void pid_set_release(struct pid_set *s);
/* A pid that is in it already stays as it is, alive. */
void pid_set_add(struct pid_set *s, uint32_t pid, uint64_t since);
bool pid_set_has(const struct pid_set *s, uint32_t pid, uint64_t time);
void pid_set_leave(struct pid_set *s, uint32_t pid);
/* Once a round: forgets those that left two rounds ago, and says which. */
typedef void pid_gone_fn(void *ctx, uint32_t pid);
void pid_set_next_round(struct pid_set *s, pid_gone_fn *gone, void *ctx);

#endif
