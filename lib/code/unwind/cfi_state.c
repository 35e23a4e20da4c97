/* SPDX-License-Identifier: MIT */
#include "lib/code/unwind/cfi_state.h"

/*
 * Recognizes shapes by symbolic evaluation, so that it does not matter how a compiler writes a
 * constant or an addition (DWARF 5, section 2.5).
 */

#define STACK_DEPTH 8

enum {
	OP_DEREF = 0x06,
	OP_CONST1U = 0x08,
	OP_CONST1S = 0x09,
	OP_CONST2U = 0x0a,
	OP_CONST2S = 0x0b,
	OP_CONST4U = 0x0c,
	OP_CONST4S = 0x0d,
	OP_CONST8U = 0x0e,
	OP_CONST8S = 0x0f,
	OP_CONSTU = 0x10,
	OP_CONSTS = 0x11,
	OP_AND = 0x1a,
	OP_MINUS = 0x1c,
	OP_MUL = 0x1e,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_SHL = 0x24,
	OP_GE = 0x2a,
	OP_LIT0 = 0x30,
	OP_LIT31 = 0x4f,
	OP_BREG0 = 0x70,
	OP_BREG31 = 0x8f,
	OP_BREGX = 0x92,
	OP_NOP = 0x96,
};

enum value_kind {
	VALUE_CONST, /* after */
	VALUE_REG, /* reg + before */
	VALUE_DEREF, /* *(reg + before) + after */
	VALUE_INDEX, /* index * word */
	VALUE_ELEMENT, /* reg + index * word + before */
	VALUE_INDEXED, /* *(reg + index * word + before) + after */
	VALUE_DEREF_TWICE, /* *(*(reg + before) + between) + after */
	VALUE_PC_LOW, /* pc & 15 */
	VALUE_PC_AT_LEAST, /* (pc & 15) >= after */
	VALUE_PC_WORD, /* VALUE_PC_AT_LEAST * word */
	VALUE_PLT, /* reg + before + ((pc & 15) >= after) * word */
};

struct value {
	enum value_kind kind;
	uint64_t reg, index;
	int64_t before, between, after;
};

struct stack {
	struct value values[STACK_DEPTH];
	unsigned int depth;
	uint64_t pc;
	uint8_t word;
};

static bool push(struct stack *s, struct value value)
{
	if (s->depth == STACK_DEPTH)
		return false;
	s->values[s->depth++] = value;
	return true;
}

static bool push_reg(struct stack *s, uint64_t reg, int64_t offset)
{
	return push(s, (struct value){.kind = VALUE_REG, .reg = reg, .before = offset});
}

/* Reads the constant that an operator pushes. Returns false if `op` pushes none. */
static bool read_constant(struct bytes *b, uint8_t op, int64_t *value)
{
	if (op >= OP_LIT0 && op <= OP_LIT31) {
		*value = op - OP_LIT0;
		return true;
	}
	switch (op) {
	case OP_CONST1U:
		*value = bytes_u8(b);
		return true;
	case OP_CONST1S:
		*value = (int8_t)bytes_u8(b);
		return true;
	case OP_CONST2U:
		*value = bytes_u16(b);
		return true;
	case OP_CONST2S:
		*value = (int16_t)bytes_u16(b);
		return true;
	case OP_CONST4U:
		*value = bytes_u32(b);
		return true;
	case OP_CONST4S:
		*value = (int32_t)bytes_u32(b);
		return true;
	case OP_CONST8U:
	case OP_CONST8S:
		*value = (int64_t)bytes_u64(b);
		return true;
	case OP_CONSTU:
		*value = (int64_t)bytes_uleb(b);
		return true;
	case OP_CONSTS:
		*value = bytes_sleb(b);
		return true;
	default:
		return false;
	}
}

static bool add_constant(struct value *v, int64_t constant)
{
	switch (v->kind) {
	case VALUE_REG:
	case VALUE_ELEMENT:
	case VALUE_PLT:
		return !__builtin_add_overflow(v->before, constant, &v->before);
	case VALUE_CONST:
	case VALUE_DEREF:
	case VALUE_INDEXED:
	case VALUE_DEREF_TWICE:
		return !__builtin_add_overflow(v->after, constant, &v->after);
	default:
		return false;
	}
}

static bool add(struct value *a, const struct value *b)
{
	struct value sum;

	if (b->kind == VALUE_CONST)
		return add_constant(a, b->after);
	if (a->kind == VALUE_CONST) {
		sum = *b;
		if (!add_constant(&sum, a->after))
			return false;
	} else if (a->kind == VALUE_REG && b->kind == VALUE_PC_WORD) {
		sum = *a;
		sum.kind = VALUE_PLT;
		sum.after = b->after;
	} else if (a->kind == VALUE_REG && b->kind == VALUE_INDEX) {
		sum = *a;
		sum.kind = VALUE_ELEMENT;
		sum.index = b->index;
	} else {
		return false;
	}
	*a = sum;
	return true;
}

/*
 * Multiplies a register by the word size. Hand-written code uses this to find the frame after an
 * array.
 */
static bool scale(const struct stack *s, struct value *a, const struct value *by, int64_t constant)
{
	if (a->kind != VALUE_REG || a->reg == s->pc || a->before || by->kind != VALUE_CONST ||
	    by->after != constant)
		return false;
	a->kind = VALUE_INDEX;
	a->index = a->reg;
	return true;
}

static int word_shift(const struct stack *s)
{
	return s->word == 8 ? 3 : 2;
}

/*
 * Loads a word from the address given by the value. Returns false if the result has no known shape.
 */
static bool load(const struct stack *s, struct value *v)
{
	if (v->reg == s->pc)
		return false;
	if (v->kind == VALUE_REG) {
		v->kind = VALUE_DEREF;
	} else if (v->kind == VALUE_ELEMENT) {
		v->kind = VALUE_INDEXED;
	} else if (v->kind == VALUE_DEREF) {
		v->kind = VALUE_DEREF_TWICE;
		v->between = v->after;
		v->after = 0;
	} else {
		return false;
	}
	return true;
}

/* Computes a = a op b. Returns false if the result has no known shape. */
static bool combine(const struct stack *s, uint8_t op, struct value *a, const struct value *b)
{
	switch (op) {
	case OP_PLUS:
		return add(a, b);
	case OP_MINUS:
		return b->kind == VALUE_CONST && b->after != INT64_MIN &&
		       add_constant(a, -b->after);
	case OP_MUL:
		return scale(s, a, b, s->word);
	case OP_AND:
		if (a->kind != VALUE_REG || a->reg != s->pc || a->before ||
		    b->kind != VALUE_CONST || b->after != 15)
			return false;
		a->kind = VALUE_PC_LOW;
		return true;
	case OP_GE:
		if (a->kind != VALUE_PC_LOW || b->kind != VALUE_CONST)
			return false;
		a->kind = VALUE_PC_AT_LEAST;
		a->after = b->after;
		return true;
	case OP_SHL:
		if (scale(s, a, b, word_shift(s)))
			return true;
		if (a->kind != VALUE_PC_AT_LEAST || b->kind != VALUE_CONST ||
		    b->after != word_shift(s))
			return false;
		a->kind = VALUE_PC_WORD;
		return true;
	default:
		return false;
	}
}

static bool step(struct stack *s, struct bytes *b, uint8_t op)
{
	struct value *top = s->depth ? &s->values[s->depth - 1] : NULL;
	int64_t constant;
	uint64_t reg;

	if (op == OP_NOP)
		return true;
	if (op >= OP_BREG0 && op <= OP_BREG31)
		return push_reg(s, op - OP_BREG0, bytes_sleb(b));
	if (op == OP_BREGX) {
		reg = bytes_uleb(b);
		return push_reg(s, reg, bytes_sleb(b));
	}
	if (read_constant(b, op, &constant))
		return push(s, (struct value){.kind = VALUE_CONST, .after = constant});
	if (!top)
		return false;
	if (op == OP_PLUS_UCONST) {
		constant = (int64_t)bytes_uleb(b);
		return constant >= 0 && add_constant(top, constant);
	}
	if (op == OP_DEREF)
		return load(s, top);
	if (s->depth < 2 || !combine(s, op, top - 1, top))
		return false;
	s->depth--;
	return true;
}

struct expression expression_recognize(struct bytes code, uint64_t pc, uint64_t pushed,
				       uint8_t word)
{
	struct expression result = {.kind = EXPRESSION_OTHER};
	struct stack s = {.pc = pc, .word = word};
	const struct value *v;

	if (bytes_left(&code) > EXPRESSION_MAX_SIZE)
		return result;
	if (pushed != EXPRESSION_NO_REG)
		push_reg(&s, pushed, 0);
	while (bytes_left(&code)) {
		if (!step(&s, &code, bytes_u8(&code)))
			return result;
	}
	if (code.failed || !s.depth)
		return result;
	v = &s.values[s.depth - 1];
	if (v->kind == VALUE_REG)
		result.kind = EXPRESSION_REG;
	else if (v->kind == VALUE_DEREF)
		result.kind = EXPRESSION_DEREF;
	else if (v->kind == VALUE_INDEXED)
		result.kind = EXPRESSION_INDEXED;
	else if (v->kind == VALUE_DEREF_TWICE)
		result.kind = EXPRESSION_DEREF_TWICE;
	else if (v->kind == VALUE_PLT)
		result.kind = EXPRESSION_PLT;
	result.reg = v->reg;
	result.index = v->index;
	result.before = v->before;
	result.between = v->between;
	result.after = v->after;
	return result;
}

static void set_value(struct cfi_state *s, enum unwind_value value, enum unwind_value_kind kind,
		      int offset)
{
	if (value == UNWIND_VALUE_NONE)
		return;
	/* Not saved as in a signal frame: longjmp has this for two instructions. */
	if (value == UNWIND_VALUE_SP) {
		s->sp = CFI_SP_OTHER;
		return;
	}
	rule_set_value(&s->rule, value, kind, (int16_t)offset);
	if (value == UNWIND_VALUE_RA)
		s->ra_undefined = false;
}

/* Sets the value as saved `offset` bytes from the CFA or a register. */
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

static void set_sp(struct cfi_state *s, enum cfi_sp kind, uint8_t reg, int16_t offset)
{
	s->sp = (uint8_t)kind;
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
			set_sp(s, CFI_SP_SAVED, (uint8_t)base, (int16_t)words);
	} else {
		set_value(s, value, UNWIND_UNKNOWN, 0);
	}
}

/* Sets the value as inexpressible by a rule. */
static void cfi_state_set_untold(struct cfi_state *s, const struct unwind_arch *arch, uint64_t reg)
{
	set_value(s, unwind_arch_value(arch, reg), UNWIND_UNKNOWN, 0);
}

void cfi_state_set_val_expression(struct cfi_state *s, const struct unwind_arch *arch, uint64_t reg,
				  const struct expression *e)
{
	int base = unwind_arch_reg(arch, e->reg);
	int64_t words = e->before / arch->word;

	cfi_state_set_untold(s, arch, reg);
	if (unwind_arch_value(arch, reg) == UNWIND_VALUE_SP && e->kind == EXPRESSION_REG &&
	    base >= 0 && base <= UNWIND_AT_REG_LAST && e->before % arch->word == 0 &&
	    words == (int16_t)words)
		set_sp(s, CFI_SP_MOVED, (uint8_t)base, (int16_t)words);
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

	/* In real code, only the return address stays in another register. */
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

/* `words` is the location of the CFA relative to reg, in words of the machine. */
static void set_cfa(struct cfi_state *s, enum unwind_cfa_kind kind, int reg, int64_t offset,
		    int64_t words)
{
	if (reg < 0 || offset < INT32_MIN || offset > INT32_MAX || words < INT16_MIN ||
	    words > INT16_MAX)
		forget_cfa(s);
	else
		rule_set_cfa(&s->rule, kind, (unsigned int)reg, (int32_t)offset, (int16_t)words);
}

/* Sets the CFA as saved in memory, `deref` bytes from a register. */
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

/* Sets the CFA as saved in memory, at an address that is saved `deref` bytes from a register. */
static void set_twice_saved_cfa(struct cfi_state *s, const struct unwind_arch *arch,
				const struct expression *e)
{
	int64_t words = e->between / arch->word;

	if (e->between % arch->word || words < 0 || words > UNWIND_INDEX_MAX) {
		forget_cfa(s);
		return;
	}
	set_saved_cfa(s, arch, UNWIND_CFA_DEREF_TWICE, unwind_arch_reg(arch, e->reg), e->after,
		      e->before);
	if (rule_cfa_kind(s->rule) == UNWIND_CFA_DEREF_TWICE)
		rule_set_index(&s->rule, (unsigned int)words);
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
	else if (e->kind == EXPRESSION_DEREF_TWICE)
		set_twice_saved_cfa(s, arch, e);
	else if (e->kind == EXPRESSION_PLT && e->before == arch->word)
		set_cfa(s, UNWIND_CFA_PLT, reg, e->after, 0);
	else
		forget_cfa(s);
}

/* Makes the CFA unknown if it is an expression: a new register or offset makes no sense then. */
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

/* Chooses one base register, as rules have room for one. The return address's takes precedence. */
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

/* Returns true in a signal frame: the stack pointer is saved where the CFA is read from. */
static bool sp_is_cfa(const struct cfi_state *s)
{
	struct unwind_rule rule = rule_unpack(s->rule);

	if (s->sp == CFI_SP_SAVED)
		return rule.cfa_kind == UNWIND_CFA_DEREF && rule.cfa_reg == s->sp_reg &&
		       rule.cfa_deref == s->sp_offset && rule.cfa_offset == 0;
	return s->sp == CFI_SP_IS_CFA;
}

/*
 * Expresses a stack pointer that is the CFA's register plus another offset: it becomes the CFA, and
 * values saved relative to the old CFA become relative to the new one.
 */
static bool move_cfa(const struct cfi_state *s, uint8_t word, struct rule_words *rule)
{
	struct unwind_rule old = rule_unpack(*rule);
	int32_t offset = s->sp_offset * word, moved = offset - old.cfa_offset;

	if (old.cfa_kind != UNWIND_CFA_REG || old.cfa_reg != s->sp_reg || moved % word)
		return false;
	rule_set_cfa_offset(rule, offset);
	for (unsigned int i = 0; i < UNWIND_VALUE_COUNT; i++) {
		int32_t at = rule_value_offset(*rule, i) - moved / word;

		if (rule_value_kind(*rule, i) != UNWIND_AT_CFA)
			continue;
		if (at != (int16_t)at)
			return false;
		rule_set_value(rule, i, UNWIND_AT_CFA, (int16_t)at);
	}
	return true;
}

bool cfi_state_rule(const struct cfi_state *s, uint8_t word, struct rule_words *rule)
{
	*rule = s->rule;
	if (rule_has_at_reg(*rule))
		choose_at_reg(s, rule);
	return rule_cfa_kind(*rule) != UNWIND_CFA_NONE &&
	       rule_value_kind(*rule, UNWIND_VALUE_RA) != UNWIND_UNKNOWN &&
	       (s->sp == CFI_SP_MOVED ? move_cfa(s, word, rule) : sp_is_cfa(s));
}
