/* SPDX-License-Identifier: MIT */
/*
 * The state of a running CFI program (DWARF 5, section 6.4.2), and a fast path for most programs.
 */
#ifndef PROF_LIB_CODE_UNWIND_CFI_SHORT_H
#define PROF_LIB_CODE_UNWIND_CFI_SHORT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/bytes.h"
#include "lib/code/unwind/arch.h"
#include "lib/code/unwind/cfi.h"
#include "lib/code/unwind/cfi_state.h"
#include "lib/code/unwind/rows.h"

/* Limit for nested OP_REMEMBER_STATE. Compilers nest once, hand-written code twice. */
#define CFI_MAX_REMEMBERED 16

enum cfi_op {
	OP_NOP = 0x00,
	OP_SET_LOC = 0x01,
	OP_ADVANCE_LOC1 = 0x02,
	OP_ADVANCE_LOC2 = 0x03,
	OP_ADVANCE_LOC4 = 0x04,
	OP_OFFSET_EXTENDED = 0x05,
	OP_RESTORE_EXTENDED = 0x06,
	OP_UNDEFINED = 0x07,
	OP_SAME_VALUE = 0x08,
	OP_REGISTER = 0x09,
	OP_REMEMBER_STATE = 0x0a,
	OP_RESTORE_STATE = 0x0b,
	OP_DEF_CFA = 0x0c,
	OP_DEF_CFA_REGISTER = 0x0d,
	OP_DEF_CFA_OFFSET = 0x0e,
	OP_DEF_CFA_EXPRESSION = 0x0f,
	OP_EXPRESSION = 0x10,
	OP_OFFSET_EXTENDED_SF = 0x11,
	OP_DEF_CFA_SF = 0x12,
	OP_DEF_CFA_OFFSET_SF = 0x13,
	OP_VAL_OFFSET = 0x14,
	OP_VAL_OFFSET_SF = 0x15,
	OP_VAL_EXPRESSION = 0x16,
	OP_MIPS_ADVANCE_LOC8 = 0x1d,
	OP_AARCH64_NEGATE_RA_STATE_WITH_PC = 0x2c,
	OP_AARCH64_NEGATE_RA_STATE = 0x2d,
	OP_GNU_ARGS_SIZE = 0x2e,
	OP_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
	/* The operand of the following is in their low six bits. */
	OP_ADVANCE_LOC = 0x40,
	OP_OFFSET = 0x80,
	OP_RESTORE = 0xc0,
};

struct cfi_run {
	struct bytes program;
	const struct unwind_arch *arch;
	const struct cie *cie;
	const struct cfi_state *initial; /* state that DW_CFA_restore restores */
	struct rows *rows; /* NULL while running a CIE */
	uint64_t loc, limit;
	bool changed; /* the state may have changed since the last row */
	unsigned int depth;
	struct cfi_state state, remembered[CFI_MAX_REMEMBERED];
};

/* Data alignment factor that compilers use on all 64-bit machines. */
#define CFI_SHORT_FACTOR (-8)
/* Bytes past a program's end that are read but not used; they must be in its section. */
#define CFI_SHORT_READ 4

/* Does the state equal its rule, also after any of the instructions of cfi_run_short()? */
static inline bool cfi_state_is_short(const struct cfi_state *s)
{
	return cfi_state_is_plain(s) && rule_cfa_kind(s->rule) == UNWIND_CFA_REG;
}

static inline bool cfi_can_run_short(const struct cfi_run *r)
{
	return r->rows && cfi_state_is_short(&r->state) && !r->cie->is_signal_frame &&
	       r->cie->data_factor == CFI_SHORT_FACTOR && r->arch->word == -CFI_SHORT_FACTOR &&
	       r->cie->section_end - r->program.end >= CFI_SHORT_READ;
}

/*
 * Runs the instructions that make up nearly all programs; this loop determines the cost of a row.
 * True after adding the last row. False before an instruction that is not handled here or leads to
 * a state that differs from its rule. Requires cfi_can_run_short().
 */
bool cfi_run_short(struct cfi_run *r);

#endif
