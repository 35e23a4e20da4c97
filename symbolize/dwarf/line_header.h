/* SPDX-License-Identifier: MIT */
/* The header of a line number program; private to line_table.c. */
#ifndef PROF_SYMBOLIZE_DWARF_LINE_HEADER_H
#define PROF_SYMBOLIZE_DWARF_LINE_HEADER_H

#include "symbolize/dwarf/line_table.h"

struct line_header {
	struct bytes program;
	uint8_t instruction_size;
	uint8_t operations; /* per instruction: more than 1 only on VLIW machines */
	int8_t line_base;
	uint8_t line_range; /* not 0 */
	uint8_t opcode_base; /* not 0 */
	uint8_t operand_counts[256]; /* of standard opcodes, by number */
};

/* Fills in the header and the table's directories and files. False: the table is unusable. */
bool line_header_read(struct line_header *h, const struct line_sections *sections, uint64_t offset,
		      struct line_table *t, struct step_budget *budget);

#endif
