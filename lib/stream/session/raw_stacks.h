/* SPDX-License-Identifier: MIT */
/*
 * Stacks of the stream as received: addresses, which need a process to be resolved. Each distinct
 * stack is kept once, however often and under whichever ids it arrives.
 */
#ifndef PROF_LIB_STREAM_SESSION_RAW_STACKS_H
#define PROF_LIB_STREAM_SESSION_RAW_STACKS_H

#include <stdbool.h>

#include "bpf/record.h"
#include "lib/base/index.h"
#include "lib/base/vec.h"

typedef uint32_t raw_stack_id; /* not the wire's stack_id, which may be reused */

#define NO_RAW_STACK UINT32_MAX

struct raw_stack {
	uint64_t first_word; /* of its body, as in the record */
	raw_stack_id outer; /* NO_RAW_STACK: no further frames */
	uint16_t prefix_skip; /* innermost frames of `outer` to leave out */
	uint16_t run_count;
	uint16_t kernel_depth, user_depth; /* in its body */
	uint16_t links; /* number of continuations */
	uint8_t flags; /* of REC_STACK */
	uint32_t depth; /* number of all frames */
};

/* Counts the frames in user space, including those shared with other stacks. */
static inline uint32_t raw_stack_user_depth(const struct raw_stack *stack)
{
	return stack->depth - stack->kernel_depth;
}

struct stack_cache_entry {
	uint32_t stack_id; /* of the wire */
	raw_stack_id stack;
	bool is_recent; /* sent since raw_stacks_forget() */
	bool is_unasked; /* nothing has asked for it: a connection may, when it closes */
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
 * Gives the record's stack_id this meaning from now on. NO_RAW_STACK, with nothing changed, if it
 * continues a stack that has not arrived yet.
 */
raw_stack_id raw_stacks_add(struct raw_stacks *s, const struct rec_stack *rec);
/* Returns the present meaning of a wire stack_id; NO_RAW_STACK if it never arrived. */
raw_stack_id raw_stacks_find(struct raw_stacks *s, uint32_t wire_id);
/*
 * Drops what was sent before the last call, but for stacks that nothing has asked for yet. All ids
 * change. The recorder sends what it still needs anew in each epoch.
 */
void raw_stacks_forget(struct raw_stacks *s);
/* Stores all stack->depth frames of a stack, innermost first. */
void raw_stack_unpack(const struct raw_stacks *s, const struct raw_stack *stack, uint64_t *addrs,
		      uint8_t *kinds);

#endif
