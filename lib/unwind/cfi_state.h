/* SPDX-License-Identifier: MIT */
/* What CFI says at one pc: a rule, and what decides whether it can be one. */
#ifndef PROF_LIB_UNWIND_CFI_STATE_H
#define PROF_LIB_UNWIND_CFI_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/unwind/arch.h"
#include "lib/unwind/expression.h"
#include "lib/unwind/rule_words.h"

/* The caller's stack pointer, where CFI says something about it. */
enum cfi_sp {
	CFI_SP_IS_CFA, /* as nearly always */
	CFI_SP_SAVED, /* in memory, at sp_reg + sp_offset words */
	CFI_SP_OTHER,
};

struct cfi_state {
	struct rule_words rule; /* UNWIND_CFA_NONE: the CFA is not known, or cannot be told */
	uint8_t at_regs[UNWIND_VALUE_COUNT]; /* what an UNWIND_AT_REG value is relative to */
	bool ra_undefined;
	uint8_t sp; /* enum cfi_sp */
	uint8_t sp_reg;
	int16_t sp_offset;
};

/* `reg` is DWARF's number; for registers that rules do not follow these functions do nothing. */

/* Saved at CFA + offset bytes. */
void cfi_state_set_offset(struct cfi_state *s, const struct unwind_arch *arch, uint64_t reg,
			  int64_t offset);
/* Saved where the expression says (EXPRESSION_CFA is the CFA in it). */
void cfi_state_set_expression(struct cfi_state *s, const struct unwind_arch *arch, uint64_t reg,
			      const struct expression *expression);
void cfi_state_set_undefined(struct cfi_state *s, const struct unwind_arch *arch, uint64_t reg);
void cfi_state_set_same(struct cfi_state *s, const struct unwind_arch *arch, uint64_t reg);
/* In another register. */
void cfi_state_set_register(struct cfi_state *s, const struct unwind_arch *arch, uint64_t reg,
			    uint64_t other);
/* It is CFA + offset bytes itself. */
void cfi_state_set_val_offset(struct cfi_state *s, const struct unwind_arch *arch, uint64_t reg,
			      int64_t offset);
/* Computed in a way that no rule can tell. */
void cfi_state_set_untold(struct cfi_state *s, const struct unwind_arch *arch, uint64_t reg);
/* As it is in `initial`. */
void cfi_state_restore(struct cfi_state *s, const struct unwind_arch *arch, uint64_t reg,
		       const struct cfi_state *initial);

void cfi_state_set_cfa(struct cfi_state *s, const struct unwind_arch *arch, uint64_t reg,
		       int64_t offset);
void cfi_state_set_cfa_expression(struct cfi_state *s, const struct unwind_arch *arch,
				  const struct expression *expression);
/* These two change a CFA that is reg + offset; any other one is not known any more. */
void cfi_state_set_cfa_register(struct cfi_state *s, const struct unwind_arch *arch, uint64_t reg);
void cfi_state_set_cfa_offset(struct cfi_state *s, int64_t offset);

/* Does `rule` tell the state as it is? Else ask cfi_state_rule(). */
static inline bool cfi_state_is_plain(const struct cfi_state *s)
{
	return !s->ra_undefined && s->sp == CFI_SP_IS_CFA &&
	       rule_cfa_kind(s->rule) != UNWIND_CFA_NONE &&
	       rule_value_kind(s->rule, UNWIND_VALUE_RA) != UNWIND_UNKNOWN &&
	       !rule_has_at_reg(s->rule);
}

/*
 * The rule that tells the state. False where none can: the CFA or the return address is not known,
 * or the stack pointer is not the CFA.
 * A frame pointer or base register that cannot be told is UNWIND_UNKNOWN in it.
 */
bool cfi_state_rule(const struct cfi_state *s, struct rule_words *rule);

#endif
