/* SPDX-License-Identifier: MIT */
/* Puts the frames of a runtime into a stack that was walked in this process. */
#ifndef PROF_LIB_CODE_UNWIND_NATIVE_MANAGED_MERGE_H
#define PROF_LIB_CODE_UNWIND_NATIVE_MANAGED_MERGE_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/live_record.h"

struct managed_merge {
	/* The user frames after the leaf, innermost first, and the sp of each. */
	const uint64_t *addrs, *sps;
	const uint8_t *kinds;
	uint32_t depth;
	uint64_t top_sp; /* of the leaf; UINT64_MAX: it is in the kernel */
	/* Nothing lies beyond the outermost frame; else frames of the runtime may stand alone. */
	bool is_whole;
	bool keeps_interpreter; /* leave native frames beside those that they run */
	const struct managed_frame *managed;
	uint32_t managed_count;
};

struct managed_merge_result {
	uint32_t depth; /* frames stored */
	uint32_t left; /* frames of the runtime that no native frame holds */
	bool leaf_replaced; /* as STACK_LEAF_REPLACED */
	bool is_truncated; /* there was no room for all */
};

/* Stores the frames of both, at most `capacity`. */
struct managed_merge_result managed_merge(const struct managed_merge *in, uint64_t *addrs,
					  uint8_t *kinds, uint32_t capacity);

#endif
