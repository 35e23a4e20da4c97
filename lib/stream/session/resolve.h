/* SPDX-License-Identifier: MIT */
/*
 * Resolves addresses to frames and stacks of the profile, with the mappings of a process and the
 * kernel.
 */
#pragma once

#include "bpf/record.h"
#include "lib/model/tables/profile.h"
#include "lib/stream/session/tasks/process.h"

/*
 * Stacks of the stream as received: addresses, which need a process to be resolved. Each distinct
 * stack is kept once, however often and under whichever ids it arrives.
 */

typedef uint32_t raw_stack_id; /* differs from the wire's stack_id, which may be reused */

#define NO_RAW_STACK UINT32_MAX

struct raw_stack {
	uint64_t first_word; /* first word of the body, as in the record */
	raw_stack_id outer; /* NO_RAW_STACK: no further frames */
	uint16_t prefix_skip; /* innermost frames of `outer` to skip */
	uint16_t run_count;
	uint16_t kernel_depth, user_depth; /* frames in the body */
	uint16_t links; /* number of continuations */
	uint8_t flags; /* flags of the REC_STACK */
	uint32_t depth; /* total number of frames */
};

/* Counts the frames in user space, including those shared with other stacks. */
static inline uint32_t raw_stack_user_depth(const struct raw_stack *stack)
{
	return stack->depth - stack->kernel_depth;
}

struct stack_cache_entry {
	uint32_t stack_id; /* stack_id of the wire */
	raw_stack_id stack;
	bool is_recent; /* sent after the last raw_stacks_forget() */
	bool is_unasked; /* not looked up since it arrived */
};

struct raw_stacks {
	VEC(uint64_t) words;
	VEC(struct raw_stack) rows;
	struct index by_content;
	VEC(struct stack_cache_entry) sent;
	struct index by_stack_id;
};

void raw_stacks_release(struct raw_stacks *s);
/*
 * Binds the record's stack_id to this stack from now on. Returns NO_RAW_STACK and changes nothing
 * if the record continues a stack that has not arrived yet.
 */
raw_stack_id raw_stacks_add(struct raw_stacks *s, const struct rec_stack *rec);
/* Returns the current meaning of a wire stack_id; NO_RAW_STACK if it never arrived. */
raw_stack_id raw_stacks_find(struct raw_stacks *s, uint32_t wire_id);
/* Stores all stack->depth frames of a stack, innermost first. */
void raw_stack_unpack(const struct raw_stacks *s, const struct raw_stack *stack, uint64_t *addrs,
		      uint8_t *kinds);

struct resolved; /* cache line */
struct resolved_leaf;
struct last_child;
struct last_frame;
struct located_frame;

/*
 * The user frames of the last resolved stack, outermost first: the next stack with the same
 * mappings mostly shares many of them.
 */
struct last_stack {
	uint64_t stamp; /* stamp of the mappings used */
	VEC(struct last_frame) frames;
};

#define LAST_STACKS 16

struct resolver {
	struct profile *profile;
	struct mapping_table *kernel;
	struct raw_stacks raw;
	struct resolved *cache;
	struct resolved_leaf *leaves; /* leaf cache, allocated right behind `cache` */
	uint64_t kernel_stamp; /* stamp of the kernel mappings that both caches used */
	uint32_t lines, misses; /* lines of each cache; misses since their last resize */
	VEC(struct last_child) children; /* by stack id plus 1; entry 0 is NO_STACK */
	struct last_stack last[LAST_STACKS]; /* by mapping stamp */
	/* Frames of the stack being resolved. */
	VEC(uint64_t) addrs;
	VEC(uint8_t) kinds;
	VEC(struct located_frame) located;
};

void resolver_init(struct resolver *r, struct profile *profile);
void resolver_release(struct resolver *r);

/* Extent of a stack in the profile. */
struct stack_extent {
	uint32_t user_depth; /* user frames up to the end of the stack, including omitted frames */
	uint32_t unknown_depth; /* frames omitted because of their unknown kind */
	bool has_user_frame;
	bool has_guess; /* one of the frames is a FRAME_GUESS */
};

/*
 * Resolves the stack below the leaf. `mappings` may be older than the process's current ones;
 * anonymous memory is attributed to `process`.
 */
stack_id resolver_stack(struct resolver *r, raw_stack_id raw, struct process *process,
			const struct mapping_table *mappings, struct stack_extent *extent);
/* Adds the interrupted frame to `base`; `kind` is an enum frame_kind. */
stack_id resolver_leaf(struct resolver *r, stack_id base, uint64_t addr, uint8_t kind,
		       struct process *process, const struct mapping_table *mappings);
/* Drops raw stacks and their cached results, see raw_stacks_forget(). */
void resolver_forget(struct resolver *r);
/* Clears cached results after stack ids have changed. */
void resolver_clear(struct resolver *r);
/* True if these are the mappings of a 32-bit program. */
bool resolver_is_32bit(const struct resolver *r, const struct mapping_table *mappings);
