/* SPDX-License-Identifier: MIT */
/* Packs and unpacks the frames in the body of a stack record, see struct rec_stack. */
#pragma once

#include "bpf/record.h"
#include "lib/base/base.h"

/*
 * Returns a record of these frames, innermost first, without an outer stack. The caller frees it
 * and fills in time, pids, flags and id.
 */
struct rec_stack *stack_record_new(const uint64_t *addrs, const uint8_t *kinds,
				   uint16_t kernel_depth, uint16_t user_depth);

/* Returns the number of frames in the record itself. */
static inline uint32_t stack_record_depth(const struct rec_stack *rec)
{
	return (uint32_t)rec->kernel_depth + rec->user_depth;
}

/* Returns the number of bytes after the fixed part. */
size_t stack_record_body_size(uint32_t depth, uint32_t run_count);

/* The body of a record, in any memory. */
struct stack_body {
	const uint32_t *lows;
	const struct rec_run *runs;
	uint32_t depth, run_count;
};

struct stack_body stack_record_body(const struct rec_stack *rec);
/* Returns the body with `depth` frames in `run_count` runs at `words`. */
struct stack_body stack_body_at(const void *words, uint32_t depth, uint32_t run_count);

/* Clears unused bytes, in which BPF programs leave garbage that compresses badly. */
void stack_record_clear_padding(struct rec_stack *rec);
/* True if the runs cover exactly `depth` frames. */
bool stack_body_is_valid(const struct stack_body *body);
/* Stores the frames except the innermost `skip` ones. Returns their number, at most depth. */
uint32_t stack_body_unpack(const struct stack_body *body, uint32_t skip, uint64_t *addrs,
			   uint8_t *kinds);
