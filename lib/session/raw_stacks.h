/* SPDX-License-Identifier: MIT */
/*
 * The stacks of the stream as they came: addresses, which mean nothing without a process. Each
 * distinct one is kept once, however often and under whichever ids it is sent.
 */
#ifndef PROF_LIB_SESSION_RAW_STACKS_H
#define PROF_LIB_SESSION_RAW_STACKS_H

#include "bpf/record.h"
#include "lib/base/index.h"
#include "lib/base/vec.h"

typedef uint32_t raw_stack_id; /* not the stack_id of the wire: that one may be used again */

#define NO_RAW_STACK UINT32_MAX

struct raw_stack {
	uint64_t first_word; /* of its body, as in the record */
	raw_stack_id outer; /* NO_RAW_STACK: there are no more frames */
	uint16_t prefix_skip; /* its innermost frames that are none of this stack */
	uint16_t run_count;
	uint16_t kernel_depth, user_depth; /* in its body */
	uint16_t links; /* how many stacks it goes on through */
	uint8_t flags; /* of REC_STACK */
	uint32_t depth; /* of all frames */
};

/* The frames in user space, however many of them another stack has. */
static inline uint32_t raw_stack_user_depth(const struct raw_stack *stack)
{
	return stack->depth - stack->kernel_depth;
}

struct stack_cache_entry {
	uint32_t stack_id; /* of the wire */
	raw_stack_id stack;
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
 * From now on the record's stack_id means this stack. NO_RAW_STACK, and nothing has changed, where
 * it goes on like a stack that has not come yet.
 */
raw_stack_id raw_stacks_add(struct raw_stacks *s, const struct rec_stack *rec);
/* What a stack_id of the wire means now; NO_RAW_STACK: it never came. */
raw_stack_id raw_stacks_find(const struct raw_stacks *s, uint32_t wire_id);
/* Stores all frames of a stack, which are stack->depth, innermost first. */
void raw_stack_unpack(const struct raw_stacks *s, const struct raw_stack *stack, uint64_t *addrs,
		      uint8_t *kinds);

#endif
