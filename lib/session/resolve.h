/* SPDX-License-Identifier: MIT */
/* Addresses → frames → stacks of the profile, with the mappings of a process and of the kernel. */
#ifndef PROF_LIB_SESSION_RESOLVE_H
#define PROF_LIB_SESSION_RESOLVE_H

#include "lib/profile/profile.h"
#include "lib/session/process.h"
#include "lib/session/raw_stacks.h"

struct resolved; /* a line of the cache */

struct resolver {
	struct profile *profile;
	struct mapping_table *kernel;
	struct raw_stacks raw;
	struct resolved *cache;
	/* The frames of the stack that is being resolved. */
	VEC(uint64_t) addrs;
	VEC(uint8_t) kinds;
};

void resolver_init(struct resolver *r, struct profile *profile);
void resolver_release(struct resolver *r);

/* How much of a stack is in the profile. */
struct stack_extent {
	uint32_t user_depth; /* its user frames until it ends, those that are left out included */
	uint32_t unknown_depth; /* frames left out among all of it: their kind is not known */
	bool has_user_frame;
};

/*
 * The stack below the leaf. `mappings` need not be the process's present ones; `process` is whose
 * anonymous memory they speak of.
 */
stack_id resolver_stack(struct resolver *r, raw_stack_id raw, struct process *process,
			const struct mapping_table *mappings, struct stack_extent *extent);
/* `base` with one more frame, the interrupted one. */
stack_id resolver_leaf(struct resolver *r, stack_id base, uint64_t addr, bool is_kernel,
		       struct process *process, const struct mapping_table *mappings);
/* Is that what a 32-bit program has mapped? */
bool resolver_is_32bit(const struct resolver *r, const struct mapping_table *mappings);

#endif
