/* SPDX-License-Identifier: MIT */
/* The state of CFI at one pc: a rule, and facts that determine whether a rule can express it. */
#pragma once

#include "lib/base/bytes.h"
#include "lib/code/unwind/arch.h"
#include "lib/code/unwind/rule_words.h"

/*
 * Recognizes the few shapes of DWARF expressions in CFI that rules can express; rejects all others.
 */

enum expression_kind {
	EXPRESSION_OTHER, /* no known shape */
	EXPRESSION_REG, /* reg + before */
	EXPRESSION_DEREF, /* *(reg + before) + after */
	EXPRESSION_INDEXED, /* *(reg + index * word + before) + after */
	EXPRESSION_DEREF_TWICE, /* *(*(reg + before) + between) + after */
	EXPRESSION_PLT, /* reg + before + ((pc & 15) >= after) * word */
};

struct expression {
	enum expression_kind kind;
	uint64_t reg, index; /* DWARF numbers */
	int64_t before, between, after;
};

/* Limit of bytes; longer expressions are EXPRESSION_OTHER, real ones have at most some 20. */
#define EXPRESSION_MAX_SIZE 64

/* Pseudo registers: the CFA, and none. */
#define EXPRESSION_CFA (UINT64_MAX - 1)
#define EXPRESSION_NO_REG UINT64_MAX

/*
 * `pc` is the register that represents the pc (DW_OP_breg16 on x86-64) or EXPRESSION_NO_REG.
 * `pushed` is the register whose value is initially on the stack (EXPRESSION_CFA in
 * DW_CFA_expression) or EXPRESSION_NO_REG. `word` is the size of an address, 4 or 8.
 */
struct expression expression_recognize(struct bytes code, uint64_t pc, uint64_t pushed,
				       uint8_t word);

/* The caller's stack pointer according to the CFI. */
enum cfi_sp {
	CFI_SP_IS_CFA, /* the usual case */
	CFI_SP_SAVED, /* in memory, at sp_reg + sp_offset words */
	CFI_SP_MOVED, /* sp_reg + sp_offset words */
	CFI_SP_OTHER,
};

struct cfi_state {
	struct rule_words rule; /* UNWIND_CFA_NONE: the CFA is unknown, or no rule expresses it */
	uint8_t at_regs[UNWIND_VALUE_COUNT]; /* base registers of UNWIND_AT_REG values */
	bool ra_undefined;
	uint8_t sp; /* enum cfi_sp */
	uint8_t sp_reg;
	int16_t sp_offset;
};

/* `reg` is a DWARF number. These functions ignore registers that rules do not track. */

/* Sets the register as saved at CFA + offset bytes. */
void cfi_state_set_offset(struct cfi_state *s, const struct unwind_arch *arch, uint64_t reg,
			  int64_t offset);
/* Sets the register as saved at the expression's address (EXPRESSION_CFA stands for the CFA). */
void cfi_state_set_expression(struct cfi_state *s, const struct unwind_arch *arch, uint64_t reg,
			      const struct expression *expression);
void cfi_state_set_undefined(struct cfi_state *s, const struct unwind_arch *arch, uint64_t reg);
void cfi_state_set_same(struct cfi_state *s, const struct unwind_arch *arch, uint64_t reg);
/* Sets the value as being in another register. */
void cfi_state_set_register(struct cfi_state *s, const struct unwind_arch *arch, uint64_t reg,
			    uint64_t other);
/* Sets the value to CFA + offset bytes. */
void cfi_state_set_val_offset(struct cfi_state *s, const struct unwind_arch *arch, uint64_t reg,
			      int64_t offset);
/* Sets the value to that of the expression. */
void cfi_state_set_val_expression(struct cfi_state *s, const struct unwind_arch *arch, uint64_t reg,
				  const struct expression *expression);
/* Restores the register's rule from `initial`. */
void cfi_state_restore(struct cfi_state *s, const struct unwind_arch *arch, uint64_t reg,
		       const struct cfi_state *initial);

void cfi_state_set_cfa(struct cfi_state *s, const struct unwind_arch *arch, uint64_t reg,
		       int64_t offset);
void cfi_state_set_cfa_expression(struct cfi_state *s, const struct unwind_arch *arch,
				  const struct expression *expression);
/* Change a CFA that is reg + offset; any other CFA becomes unknown. */
void cfi_state_set_cfa_register(struct cfi_state *s, const struct unwind_arch *arch, uint64_t reg);
void cfi_state_set_cfa_offset(struct cfi_state *s, int64_t offset);

/* Returns true if `rule` expresses the state as it is; otherwise call cfi_state_rule(). */
static inline bool cfi_state_is_plain(const struct cfi_state *s)
{
	return !s->ra_undefined && s->sp == CFI_SP_IS_CFA &&
	       rule_cfa_kind(s->rule) != UNWIND_CFA_NONE &&
	       rule_value_kind(s->rule, UNWIND_VALUE_RA) != UNWIND_UNKNOWN &&
	       !rule_has_at_reg(s->rule);
}

/*
 * Makes the rule that expresses the state. Returns false if none can: the CFA or the return address
 * is unknown, or the stack pointer is neither the CFA nor at a fixed distance from it. A frame
 * pointer or base register that cannot be expressed becomes UNWIND_UNKNOWN. `word` is the size of
 * an address.
 */
bool cfi_state_rule(const struct cfi_state *s, uint8_t word, struct rule_words *rule);
