/* SPDX-License-Identifier: MIT */
/* From bytes in memory to a table: what is left of table.h without the file. */
#ifndef PROF_LIB_UNWIND_COMPILE_H
#define PROF_LIB_UNWIND_COMPILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/unwind/eh_frame.h"
#include "lib/unwind/stubs.h"

struct code_range {
	uint64_t start, end; /* vaddr */
};

struct compile_input {
	const struct unwind_arch *arch;
	struct cfi_section cfi; /* .eh_frame or .debug_frame */
	struct cfi_section hdr; /* .eh_frame_hdr; size 0: none */
	bool is_debug_frame;
	/* What is executable: an FDE elsewhere is not believed. */
	const struct code_range *code;
	size_t code_count;
	/* What is known of code that no FDE covers, in order of address. */
	const struct stub_row *stubs;
	size_t stub_count;
};

/*
 * Fills the (zeroed) table. Time and memory are in proportion to the section's size and, with a
 * quarter of a megabyte more, to a 256th of the code's. -EFBIG where limits are exceeded; the table
 * has to be released in any case.
 */
int compile_table(const struct compile_input *input, struct unwind_rules *rules,
		  struct unwind_table *table, struct error *err);

#endif
