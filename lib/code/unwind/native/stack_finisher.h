/* SPDX-License-Identifier: MIT */
/*
 * Makes a stack record from copied registers and stack (struct rec_copy): for walks that the
 * kernel's walker could not do, or recordings without a kernel. Works with any source of copies
 * that provides
 *
 *	- the copy: general registers by DWARF number (a 32-bit program's as x86-64 has them), the
 *	  stack from below_sp bytes below sp on, and frames of the kernel, if any, in front;
 *	- the mappings of its process at that time, with the tables' module ids;
 *	- the tables compiled so far.
 *
 * Frames end at the end of the stack, at the end of the copy (STACK_TRUNCATED), or at unknown code
 * (STACK_UNKNOWN). The kernel_depth, stack_size, other_size and managed_count of a copy must lie
 * within its record; the rest of it is untrusted. Keeps the innermost KERNEL_DEPTH_MAX kernel
 * frames.
 */
#pragma once

#include "bpf/live_record.h"
#include "lib/code/unwind/native/native_tables.h"
#include "lib/stream/process/mapping.h"

/* Merges a runtime's frames into a stack walked in user space. */

struct managed_merge {
	/* The user frames after the leaf, innermost first, and the sp of each. */
	const uint64_t *addrs, *sps;
	const uint8_t *kinds;
	uint32_t depth;
	uint64_t top_sp; /* of the leaf; UINT64_MAX: it is in the kernel */
	/* The outermost frame is the root; otherwise, runtime frames may stand alone. */
	bool is_whole;
	bool keeps_interpreter; /* keep native frames next to those that they execute */
	const struct managed_frame *managed;
	uint32_t managed_count;
};

struct managed_merge_result {
	uint32_t depth; /* frames stored */
	uint32_t left; /* runtime frames without a native frame */
	bool leaf_replaced; /* as STACK_LEAF_REPLACED */
	bool is_truncated; /* there was no room for some frames */
};

/* Stores the merged frames, at most `capacity`. */
struct managed_merge_result managed_merge(const struct managed_merge *in, uint64_t *addrs,
					  uint8_t *kinds, uint32_t capacity);

struct stack_finisher_options {
	struct native_tables *tables; /* borrowed */
	uint32_t methods; /* UNWIND_BY_CFI, UNWIND_BY_FRAME_POINTER, UNWIND_BY_SCAN */
	/*
	 * Reads code of a module, to distinguish calls from data in a scan for return addresses.
	 * Returns false if it is unreadable. NULL: no scans.
	 */
	bool (*read_file)(void *ctx, uint32_t module, uint64_t offset, void *to, size_t size);
	void *ctx;
};

struct stack_finisher;

struct stack_finisher *stack_finisher_new(const struct stack_finisher_options *options);
/* NULL is fine. */
void stack_finisher_free(struct stack_finisher *f);
/*
 * Makes the stack record (STACK_LATER) of a copy, with the copy's id, pids and CPU and the time
 * `now`; the caller frees it. `mappings` and `code` may be NULL.
 */
struct rec_stack *stack_finisher_finish(struct stack_finisher *f, const struct rec_copy *copy,
					const struct mapping_table *mappings,
					const struct jit_code *code, uint64_t now);
/*
 * Must be called when tables or generated code have changed since the last copy. Otherwise,
 * consecutive copies of a process share one description.
 */
void stack_finisher_forget(struct stack_finisher *f);
