/* SPDX-License-Identifier: MIT */
/*
 * Recognizes the few shapes of DWARF expressions in CFI that rules can express; refuses all others.
 */
#ifndef PROF_LIB_CODE_UNWIND_EXPRESSION_H
#define PROF_LIB_CODE_UNWIND_EXPRESSION_H

#include <stdint.h>

#include "lib/base/bytes.h"

enum expression_kind {
	EXPRESSION_OTHER, /* no known shape */
	EXPRESSION_REG, /* reg + before */
	EXPRESSION_DEREF, /* *(reg + before) + after */
	EXPRESSION_INDEXED, /* *(reg + index * word + before) + after */
	EXPRESSION_PLT, /* reg + before + ((pc & 15) >= after) * word */
};

struct expression {
	enum expression_kind kind;
	uint64_t reg, index; /* DWARF numbers */
	int64_t before, after;
};

/* Longer expressions are EXPRESSION_OTHER; real ones have at most some 20 bytes. */
#define EXPRESSION_MAX_SIZE 64

/* Pseudo registers: the CFA, and none. */
#define EXPRESSION_CFA (UINT64_MAX - 1)
#define EXPRESSION_NO_REG UINT64_MAX

/*
 * `pc` is the register that stands for the pc (DW_OP_breg16 on x86-64) or EXPRESSION_NO_REG.
 * `pushed` is the register whose value is initially on the stack (EXPRESSION_CFA in
 * DW_CFA_expression) or EXPRESSION_NO_REG. `word` is the size of an address, 4 or 8.
 */
struct expression expression_recognize(struct bytes code, uint64_t pc, uint64_t pushed,
				       uint8_t word);

#endif
