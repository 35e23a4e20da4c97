/* SPDX-License-Identifier: MIT */
/* DWARF expressions in CFI, of which rules can tell a few shapes; everything else is refused. */
#ifndef PROF_LIB_UNWIND_EXPRESSION_H
#define PROF_LIB_UNWIND_EXPRESSION_H

#include <stdint.h>

#include "lib/base/bytes.h"

enum expression_kind {
	EXPRESSION_OTHER, /* none that is known here */
	EXPRESSION_REG, /* reg + before */
	EXPRESSION_DEREF, /* *(reg + before) + after */
	EXPRESSION_INDEXED, /* *(reg + index * word + before) + after */
	EXPRESSION_PLT, /* reg + before + ((pc & 15) >= after) * word */
};

struct expression {
	enum expression_kind kind;
	uint64_t reg, index; /* as DWARF numbers them */
	int64_t before, after;
};

/* Real ones have at most some 20 bytes; a longer one is EXPRESSION_OTHER unread. */
#define EXPRESSION_MAX_SIZE 64

/* Stands for a register that is the CFA, or for one that there is not. */
#define EXPRESSION_CFA (UINT64_MAX - 1)
#define EXPRESSION_NO_REG UINT64_MAX

/*
 * `pc` is the register that means the pc (DW_OP_breg16 on x86-64) or EXPRESSION_NO_REG, `pushed`
 * the one whose value is on the stack at the beginning (EXPRESSION_CFA in DW_CFA_expression) or
 * EXPRESSION_NO_REG. `word` is the size of an address, 4 or 8.
 */
struct expression expression_recognize(struct bytes code, uint64_t pc, uint64_t pushed,
				       uint8_t word);

#endif
