/* SPDX-License-Identifier: MIT */
/* Compiles sections in memory to a table: unwind_table.h without the file. */
#pragma once

#include "lib/code/unwind/eh_frame.h"
#include "lib/code/unwind/stub_rows.h"

struct code_range {
	uint64_t start, end; /* vaddr */
};

struct compile_input {
	const struct unwind_arch *arch;
	struct cfi_section cfi; /* .eh_frame or .debug_frame */
	struct cfi_section hdr; /* .eh_frame_hdr; size 0: none */
	bool is_debug_frame;
	struct cfi_section more; /* .debug_frame, for gaps of .eh_frame; size 0: none */
	/* Executable ranges: FDEs elsewhere are ignored. */
	const struct code_range *code;
	size_t code_count;
	/* Copies `size` bytes of code at a vaddr. Returns false if they do not exist. */
	bool (*read_code)(const void *ctx, uint64_t vaddr, void *to, size_t size);
	const void *ctx;
	uint64_t entry; /* e_entry */
	bool is_program; /* certainly not a library: nothing calls the function at the entry */
	uint64_t greenlet; /* function with which the stacks of greenlets begin; 0: none */
	/* Rows for code without an FDE, in order of address. */
	const struct stub_row *stubs;
	size_t stub_count;
	/* Code whose frames, without CFI, are found by its instructions; empty: none. */
	struct code_range derived;
};

/*
 * Fills the (zeroed) table. Time and memory are proportional to the section's size plus a 256th of
 * the code's, with a constant of a quarter of a megabyte. Returns -EFBIG if limits are exceeded.
 * Release the table even on error.
 */
int compile_table(const struct compile_input *input, struct unwind_rules *rules,
		  struct unwind_table *table, struct error *err);
