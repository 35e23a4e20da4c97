/* SPDX-License-Identifier: MIT */
/*
 * Recognizes shapes by symbolic evaluation, independent of how a compiler writes a constant or an
 * addition (DWARF 5, section 2.5).
 */
#include "lib/code/unwind/expression.h"

#include <stdbool.h>
#include <stddef.h>

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
	VALUE_PC_LOW, /* pc & 15 */
	VALUE_PC_AT_LEAST, /* (pc & 15) >= after */
	VALUE_PC_WORD, /* VALUE_PC_AT_LEAST * word */
	VALUE_PLT, /* reg + before + ((pc & 15) >= after) * word */
};

struct value {
	enum value_kind kind;
	uint64_t reg, index;
	int64_t before, after;
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

/* Reads the constant that an operator pushes. False if `op` pushes none. */
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
 * Multiplies a register by the size of a word. Hand-written code uses this to find the frame after
 * an array.
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

/* Computes a = a op b. False if the result has no known shape. */
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
	if (op == OP_DEREF) {
		if ((top->kind != VALUE_REG && top->kind != VALUE_ELEMENT) || top->reg == s->pc)
			return false;
		top->kind = top->kind == VALUE_REG ? VALUE_DEREF : VALUE_INDEXED;
		return true;
	}
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
	else if (v->kind == VALUE_PLT)
		result.kind = EXPRESSION_PLT;
	result.reg = v->reg;
	result.index = v->index;
	result.before = v->before;
	result.after = v->after;
	return result;
}
