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
	uint64_t first_word; /* of the addresses, innermost first; then a byte of kind for each */
	uint16_t kernel_depth, user_depth;
	uint8_t flags; /* of REC_STACK */
};

struct sent_stack {
	uint32_t stack_id; /* of the wire */
	raw_stack_id stack;
};

struct raw_stacks {
	VEC(uint64_t) words;
	VEC(struct raw_stack) rows;
	struct index by_content;
	VEC(struct sent_stack) sent;
	struct index by_stack_id;
};

void raw_stacks_release(struct raw_stacks *s);
/* From now on the record's stack_id means this stack. */
raw_stack_id raw_stacks_add(struct raw_stacks *s, const struct rec_stack *rec);
/* What a stack_id of the wire means now; NO_RAW_STACK: it never came. */
raw_stack_id raw_stacks_find(const struct raw_stacks *s, uint32_t wire_id);
/* Valid until the next add. */
const uint64_t *raw_stack_addrs(const struct raw_stacks *s, const struct raw_stack *stack);
const uint8_t *raw_stack_kinds(const struct raw_stacks *s, const struct raw_stack *stack);

#endif
