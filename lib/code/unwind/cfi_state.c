/* SPDX-License-Identifier: MIT */
#include "lib/code/unwind/cfi_state.h"

static void set_value(struct cfi_state *s, enum unwind_value value, enum unwind_value_kind kind,
		      int offset)
{
	if (value == UNWIND_VALUE_NONE)
		return;
	/* Not saved as in a signal frame: longjmp does this for two instructions. */
	if (value == UNWIND_VALUE_SP) {
		s->sp = CFI_SP_OTHER;
		return;
	}
	rule_set_value(&s->rule, value, kind, (int16_t)offset);
	if (value == UNWIND_VALUE_RA)
		s->ra_undefined = false;
}

/* The value is saved `offset` bytes from the CFA or a register. */
static void set_saved(struct cfi_state *s, const struct unwind_arch *arch, enum unwind_value value,
		      enum unwind_value_kind kind, int64_t offset)
{
	int64_t words = offset / arch->word;

	if (offset % arch->word || words < INT16_MIN || words > INT16_MAX)
		set_value(s, value, UNWIND_UNKNOWN, 0);
	else
		set_value(s, value, kind, (int)words);
}

void cfi_state_set_offset(struct cfi_state *s, const struct unwind_arch *arch, uint64_t reg,
			  int64_t offset)
{
	set_saved(s, arch, unwind_arch_value(arch, reg), UNWIND_AT_CFA, offset);
}

static void set_sp_saved(struct cfi_state *s, uint8_t reg, int16_t offset)
{
	s->sp = CFI_SP_SAVED;
	s->sp_reg = reg;
	s->sp_offset = offset;
}

void cfi_state_set_expression(struct cfi_state *s, const struct unwind_arch *arch, uint64_t reg,
			      const struct expression *e)
{
	enum unwind_value value = unwind_arch_value(arch, reg);
	int base = unwind_arch_reg(arch, e->reg);
	int64_t words = e->before / arch->word;

	if (value == UNWIND_VALUE_NONE)
		return;
	if (e->kind == EXPRESSION_REG && e->reg == EXPRESSION_CFA) {
		set_saved(s, arch, value, UNWIND_AT_CFA, e->before);
	} else if (e->kind == EXPRESSION_REG && base >= 0 && base <= UNWIND_AT_REG_LAST) {
		set_saved(s, arch, value, UNWIND_AT_REG, e->before);
		if (value != UNWIND_VALUE_SP)
			s->at_regs[value] = (uint8_t)base;
		else if (e->before % arch->word == 0 && words == (int16_t)words)
			set_sp_saved(s, (uint8_t)base, (int16_t)words);
	} else {
		set_value(s, value, UNWIND_UNKNOWN, 0);
	}
}

void cfi_state_set_untold(struct cfi_state *s, const struct unwind_arch *arch, uint64_t reg)
{
	set_value(s, unwind_arch_value(arch, reg), UNWIND_UNKNOWN, 0);
}

void cfi_state_set_val_offset(struct cfi_state *s, const struct unwind_arch *arch, uint64_t reg,
			      int64_t offset)
{
	cfi_state_set_untold(s, arch, reg);
	if (unwind_arch_value(arch, reg) == UNWIND_VALUE_SP && offset == 0)
		s->sp = CFI_SP_IS_CFA;
}

void cfi_state_set_undefined(struct cfi_state *s, const struct unwind_arch *arch, uint64_t reg)
{
	cfi_state_set_untold(s, arch, reg);
	if (unwind_arch_value(arch, reg) == UNWIND_VALUE_RA)
		s->ra_undefined = true;
}

void cfi_state_set_same(struct cfi_state *s, const struct unwind_arch *arch, uint64_t reg)
{
	cfi_state_set_register(s, arch, reg, reg);
}

void cfi_state_set_register(struct cfi_state *s, const struct unwind_arch *arch, uint64_t reg,
			    uint64_t other)
{
	enum unwind_value value = unwind_arch_value(arch, reg);
	int holder = unwind_arch_reg(arch, other);

	/* In real code only the return address stays in another register. */
	if (value == UNWIND_VALUE_RA && holder >= 0)
		set_value(s, value, UNWIND_SAME, holder);
	else if (reg == other && value != UNWIND_VALUE_RA)
		set_value(s, value, UNWIND_SAME, 0);
	else
		set_value(s, value, UNWIND_UNKNOWN, 0);
}

void cfi_state_restore(struct cfi_state *s, const struct unwind_arch *arch, uint64_t reg,
		       const struct cfi_state *initial)
{
	enum unwind_value value = unwind_arch_value(arch, reg);

	if (value == UNWIND_VALUE_NONE)
		return;
	if (value == UNWIND_VALUE_SP) {
		s->sp = initial->sp;
		s->sp_reg = initial->sp_reg;
		s->sp_offset = initial->sp_offset;
		return;
	}
	rule_set_value(&s->rule, value, rule_value_kind(initial->rule, value),
		       rule_value_offset(initial->rule, value));
	s->at_regs[value] = initial->at_regs[value];
	if (value == UNWIND_VALUE_RA)
		s->ra_undefined = initial->ra_undefined;
}

static void forget_cfa(struct cfi_state *s)
{
	rule_set_cfa(&s->rule, UNWIND_CFA_NONE, 0, 0, 0);
}

/* `words` is the CFA's place relative to reg, in words of the machine. */
static void set_cfa(struct cfi_state *s, enum unwind_cfa_kind kind, int reg, int64_t offset,
		    int64_t words)
{
	if (reg < 0 || offset < INT32_MIN || offset > INT32_MAX || words < INT16_MIN ||
	    words > INT16_MAX)
		forget_cfa(s);
	else
		rule_set_cfa(&s->rule, kind, (unsigned int)reg, (int32_t)offset, (int16_t)words);
}

/* The CFA is saved in memory, `deref` bytes from a register. */
static void set_saved_cfa(struct cfi_state *s, const struct unwind_arch *arch,
			  enum unwind_cfa_kind kind, int reg, int64_t offset, int64_t deref)
{
	if (deref % arch->word)
		forget_cfa(s);
	else
		set_cfa(s, kind, reg, offset, deref / arch->word);
}

void cfi_state_set_cfa(struct cfi_state *s, const struct unwind_arch *arch, uint64_t reg,
		       int64_t offset)
{
	set_cfa(s, UNWIND_CFA_REG, unwind_arch_reg(arch, reg), offset, 0);
}

static void set_indexed_cfa(struct cfi_state *s, const struct unwind_arch *arch,
			    const struct expression *e)
{
	int index = unwind_arch_reg(arch, e->index);

	set_saved_cfa(s, arch, UNWIND_CFA_INDEXED, index < 0 ? -1 : unwind_arch_reg(arch, e->reg),
		      e->after, e->before);
	if (rule_cfa_kind(s->rule) == UNWIND_CFA_INDEXED)
		rule_set_index(&s->rule, (unsigned int)index);
}

void cfi_state_set_cfa_expression(struct cfi_state *s, const struct unwind_arch *arch,
				  const struct expression *e)
{
	int reg = unwind_arch_reg(arch, e->reg);

	if (e->kind == EXPRESSION_REG)
		set_cfa(s, UNWIND_CFA_REG, reg, e->before, 0);
	else if (e->kind == EXPRESSION_DEREF)
		set_saved_cfa(s, arch, UNWIND_CFA_DEREF, reg, e->after, e->before);
	else if (e->kind == EXPRESSION_INDEXED)
		set_indexed_cfa(s, arch, e);
	else if (e->kind == EXPRESSION_PLT && e->before == arch->word)
		set_cfa(s, UNWIND_CFA_PLT, reg, e->after, 0);
	else
		forget_cfa(s);
}

/* A new register or offset after an expression makes no sense: the CFA becomes unknown. */
void cfi_state_set_cfa_register(struct cfi_state *s, const struct unwind_arch *arch, uint64_t reg)
{
	if (rule_cfa_kind(s->rule) == UNWIND_CFA_REG)
		set_cfa(s, UNWIND_CFA_REG, unwind_arch_reg(arch, reg), rule_cfa_offset(s->rule), 0);
	else
		forget_cfa(s);
}

void cfi_state_set_cfa_offset(struct cfi_state *s, int64_t offset)
{
	if (rule_cfa_kind(s->rule) == UNWIND_CFA_REG && offset >= INT32_MIN && offset <= INT32_MAX)
		rule_set_cfa_offset(&s->rule, (int32_t)offset);
	else
		forget_cfa(s);
}

/* A rule has room for one base register. The return address's takes precedence. */
static void choose_at_reg(const struct cfi_state *s, struct rule_words *rule)
{
	int chosen = -1;

	for (unsigned int i = 0; i < UNWIND_VALUE_COUNT; i++) {
		if (rule_value_kind(*rule, i) != UNWIND_AT_REG)
			continue;
		if (chosen < 0)
			chosen = s->at_regs[i];
		else if (chosen != s->at_regs[i])
			rule_set_value(rule, i, UNWIND_UNKNOWN, 0);
	}
	rule_set_at_reg(rule, (unsigned int)chosen);
}

/* In a signal frame the stack pointer is saved in the place that the CFA is read from. */
static bool sp_is_cfa(const struct cfi_state *s)
{
	struct unwind_rule rule = rule_unpack(s->rule);

	if (s->sp == CFI_SP_SAVED)
		return rule.cfa_kind == UNWIND_CFA_DEREF && rule.cfa_reg == s->sp_reg &&
		       rule.cfa_deref == s->sp_offset && rule.cfa_offset == 0;
	return s->sp == CFI_SP_IS_CFA;
}

bool cfi_state_rule(const struct cfi_state *s, struct rule_words *rule)
{
	*rule = s->rule;
	if (rule_has_at_reg(*rule))
		choose_at_reg(s, rule);
	return rule_cfa_kind(*rule) != UNWIND_CFA_NONE &&
	       rule_value_kind(*rule, UNWIND_VALUE_RA) != UNWIND_UNKNOWN && sp_is_cfa(s);
}
