/* SPDX-License-Identifier: MIT */
/*
 * A copy of registers and stack, as struct rec_copy has it, becomes a stack record: the walk that
 * the kernel's walker could not do, or that there was no kernel for. Any source of copies will do.
 * It gives
 *
 *	- the copy: general registers by DWARF number (a 32-bit program's as x86-64 has them), the
 *	  stack from below_sp bytes below sp on, and frames of the kernel, if any, in front;
 *	- what its process had mapped at that time, by the numbers of modules that the tables know;
 *	- the tables, which hold those that were compiled so far.
 *
 * Frames end where the stack does, where the copy does (STACK_TRUNCATED), or where nothing is known
 * of the code (STACK_UNKNOWN). The kernel_depth and stack_size of a copy must lie within its
 *record; nothing else in it is believed. Of the kernel's frames, the innermost KERNEL_DEPTH_MAX are
 *kept.
 */
#ifndef PROF_LIB_UNWIND_NATIVE_STACK_FINISHER_H
#define PROF_LIB_UNWIND_NATIVE_STACK_FINISHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/live_record.h"
#include "lib/process/mapping.h"
#include "lib/unwind/native/native_tables.h"

struct stack_finisher_options {
	struct native_tables *tables; /* borrowed */
	uint32_t methods; /* UNWIND_BY_CFI, UNWIND_BY_FRAME_POINTER, UNWIND_BY_SCAN */
	/*
	 * Reads code of a module, which tells calls from data where the stack is searched for
	 * return addresses. False: it cannot be had. NULL: no stack is searched.
	 */
	bool (*read_file)(void *ctx, uint32_t module, uint64_t offset, void *to, size_t size);
	void *ctx;
};

struct stack_finisher;

struct stack_finisher *stack_finisher_new(const struct stack_finisher_options *options);
/* NULL is fine. */
void stack_finisher_free(struct stack_finisher *f);
/*
 * The stack record (STACK_LATER) of a copy, the caller's to free: of the copy's id, pids and CPU,
 * and of the time `now`. `mappings` and `code` may be NULL.
 */
struct rec_stack *stack_finisher_finish(struct stack_finisher *f, const struct rec_copy *copy,
					const struct mapping_table *mappings,
					const struct jit_code *code, uint64_t now);
/*
 * Tables, or made code, have changed since the last copy. Copies of one process in a row are
 * finished by one description of it.
 */
void stack_finisher_forget(struct stack_finisher *f);

#endif
