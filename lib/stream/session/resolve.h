/* SPDX-License-Identifier: MIT */
/*
 * Resolves addresses to frames and stacks of the profile, with the mappings of a process and the
 * kernel.
 */
#ifndef PROF_LIB_STREAM_SESSION_RESOLVE_H
#define PROF_LIB_STREAM_SESSION_RESOLVE_H

#include "lib/model/tables/profile.h"
#include "lib/stream/session/tasks/process.h"
#include "lib/stream/session/raw_stacks.h"

struct resolved; /* a line of the cache */
struct resolved_leaf;
struct last_child;
struct last_frame;
struct located_frame;

/*
 * The user frames of a stack that was resolved, from the outermost one inwards: the next stack with
 * the same mappings mostly shares many of them.
 */
struct last_stack {
	uint64_t stamp; /* of the mappings used */
	VEC(struct last_frame) frames;
};

#define LAST_STACKS 16

struct resolver {
	struct profile *profile;
	struct mapping_table *kernel;
	struct raw_stacks raw;
	struct resolved *cache;
	struct resolved_leaf *leaves; /* right after it */
	uint64_t kernel_stamp; /* of the mappings that all of these used */
	uint32_t lines, misses; /* of each cache; since they have this many lines */
	VEC(struct last_child) children; /* by stack, from NO_STACK on */
	struct last_stack last[LAST_STACKS]; /* by stamp */
	/* Frames of the stack that is being resolved. */
	VEC(uint64_t) addrs;
	VEC(uint8_t) kinds;
	VEC(struct located_frame) located;
};

void resolver_init(struct resolver *r, struct profile *profile);
void resolver_release(struct resolver *r);

/* Extent of a stack in the profile. */
struct stack_extent {
	uint32_t user_depth; /* user frames up to its end, including those left out */
	uint32_t unknown_depth; /* frames left out because their kind is unknown */
	bool has_user_frame;
};

/*
 * Resolves the stack below the leaf. `mappings` may be older than the process's present ones; their
 * anonymous memory is that of `process`.
 */
stack_id resolver_stack(struct resolver *r, raw_stack_id raw, struct process *process,
			const struct mapping_table *mappings, struct stack_extent *extent);
/* Adds the interrupted frame to `base`; `kind` is an enum frame_kind. */
stack_id resolver_leaf(struct resolver *r, stack_id base, uint64_t addr, uint8_t kind,
		       struct process *process, const struct mapping_table *mappings);
/* Forgets stacks and what was found for them, see raw_stacks_forget(). */
void resolver_forget(struct resolver *r);
/* Forgets which stacks were found: they have other numbers now. */
void resolver_clear(struct resolver *r);
/* True if these are the mappings of a 32-bit program. */
bool resolver_is_32bit(const struct resolver *r, const struct mapping_table *mappings);

#endif
