/* SPDX-License-Identifier: MIT */
#include "lib/unwind/cfi.h"

#include "lib/unwind/pointer.h"

/* Compilers nest them once; hand-written code twice. */
#define MAX_REMEMBERED 16

/* An offset that no rule can tell: it is no multiple of 8, and far away. */
#define UNTOLD_OFFSET INT64_MAX

enum {
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
	/* The low six bits are the operand of these. */
	OP_ADVANCE_LOC = 0x40,
	OP_OFFSET = 0x80,
	OP_RESTORE = 0xc0,
};

struct run {
	struct bytes program;
	const struct unwind_arch *arch;
	const struct cie *cie;
	const struct cfi_state *initial; /* what DW_CFA_restore brings back */
	struct rows *rows; /* NULL while a CIE runs */
	uint64_t loc, limit;
	bool changed; /* perhaps, since the last row */
	unsigned int depth;
	struct cfi_state state, remembered[MAX_REMEMBERED];
};

/* In bytes, as it stands there. */
static inline int64_t read_offset(struct run *r)
{
	uint64_t offset = bytes_uleb(&r->program);

	return offset <= INT32_MAX ? (int64_t)offset : UNTOLD_OFFSET;
}

static int64_t factored(const struct run *r, int64_t offset)
{
	if (offset < INT32_MIN || offset > INT32_MAX)
		return UNTOLD_OFFSET;
	return offset * r->cie->data_factor;
}

static inline int64_t read_factored(struct run *r)
{
	return factored(r, read_offset(r));
}

static int64_t read_signed_factored(struct run *r)
{
	return factored(r, bytes_sleb(&r->program));
}

/* The expression that follows; `pushed` as in expression_recognize(). */
static struct expression read_expression(struct run *r, uint64_t pushed)
{
	struct bytes code = bytes_sub(&r->program, bytes_uleb(&r->program));
	uint64_t pc = r->arch->ra_is_register ? EXPRESSION_NO_REG : r->arch->ra_column;

	return expression_recognize(code, pc, pushed);
}

static uint16_t find_rule(struct run *r)
{
	struct rule_words rule;

	if (cfi_state_is_plain(&r->state) && !r->cie->is_signal_frame)
		return rows_rule(r->rows, r->state.rule);
	if (r->state.ra_undefined)
		return UNWIND_RULE_END;
	if (r->cie->is_signal_frame && r->arch->signal_rule)
		return rows_rule(r->rows, rule_pack(r->arch->signal_rule));
	if (cfi_state_rule(&r->state, &rule))
		return rows_rule(r->rows, rule);
	r->rows->table->stats.unsupported++;
	return UNWIND_RULE_NONE;
}

/* Goes on to a later pc; false at the end of the FDE. */
static inline bool move_on(struct run *r, uint64_t delta)
{
	if (delta >= r->limit - r->loc) {
		r->loc = r->limit;
		return false;
	}
	r->loc += delta;
	return true;
}

/* Ends the row that began at loc; false at the end of the FDE. */
static bool advance(struct run *r, uint64_t delta)
{
	if (!delta)
		return true;
	/* A CIE has no place to advance from. */
	if (!r->rows)
		r->program.failed = true;
	if (r->program.failed)
		return false;
	if (r->changed)
		rows_add(r->rows, r->loc, find_rule(r));
	r->changed = false;
	return move_on(r, delta);
}

static bool set_loc(struct run *r)
{
	uint64_t loc = pointer_read(&r->program, r->cie->pc_encoding, r->cie->section_vaddr, 0);

	if (loc < r->loc)
		r->program.failed = true;
	return advance(r, r->program.failed ? 0 : loc - r->loc);
}

/* Without the factor, which the machines that have this do not use. */
static bool advance_loc8(struct run *r)
{
	uint64_t delta = bytes_u64(&r->program);

	if (delta > UINT32_MAX)
		r->program.failed = true;
	return advance(r, r->program.failed ? 0 : delta * r->cie->code_factor);
}

static bool remember(struct run *r)
{
	if (r->depth == MAX_REMEMBERED)
		r->program.failed = true;
	else
		r->remembered[r->depth++] = r->state;
	return true;
}

static bool recall(struct run *r)
{
	if (!r->depth)
		r->program.failed = true;
	else
		r->state = r->remembered[--r->depth];
	return true;
}

/* DW_CFA_GNU_window_save, the same number on another machine, has no meaning on ours. */
static bool negate_ra_state(struct run *r)
{
	if (!r->arch->has_signed_ra)
		r->program.failed = true;
	rule_flip_flags(&r->state.rule, UNWIND_RA_SIGNED);
	return true;
}

static bool step_expression(struct run *r, uint8_t op)
{
	struct expression e;
	uint64_t reg;

	switch (op) {
	case OP_DEF_CFA_EXPRESSION:
		e = read_expression(r, EXPRESSION_NO_REG);
		cfi_state_set_cfa_expression(&r->state, r->arch, &e);
		return true;
	case OP_EXPRESSION:
		reg = bytes_uleb(&r->program);
		e = read_expression(r, EXPRESSION_CFA);
		cfi_state_set_expression(&r->state, r->arch, reg, &e);
		return true;
	case OP_VAL_EXPRESSION:
		cfi_state_set_untold(&r->state, r->arch, bytes_uleb(&r->program));
		bytes_skip(&r->program, bytes_uleb(&r->program));
		return true;
	default:
		r->program.failed = true;
		return false;
	}
}

static bool step_rare(struct run *r, uint8_t op)
{
	uint64_t reg;

	switch (op) {
	case OP_SET_LOC:
		return set_loc(r);
	case OP_MIPS_ADVANCE_LOC8:
		return advance_loc8(r);
	case OP_OFFSET_EXTENDED:
		reg = bytes_uleb(&r->program);
		cfi_state_set_offset(&r->state, r->arch, reg, read_factored(r));
		return true;
	case OP_OFFSET_EXTENDED_SF:
		reg = bytes_uleb(&r->program);
		cfi_state_set_offset(&r->state, r->arch, reg, read_signed_factored(r));
		return true;
	case OP_GNU_NEGATIVE_OFFSET_EXTENDED:
		reg = bytes_uleb(&r->program);
		cfi_state_set_offset(&r->state, r->arch, reg, -read_factored(r));
		return true;
	case OP_RESTORE_EXTENDED:
		cfi_state_restore(&r->state, r->arch, bytes_uleb(&r->program), r->initial);
		return true;
	case OP_UNDEFINED:
		cfi_state_set_undefined(&r->state, r->arch, bytes_uleb(&r->program));
		return true;
	case OP_SAME_VALUE:
		cfi_state_set_same(&r->state, r->arch, bytes_uleb(&r->program));
		return true;
	case OP_REGISTER:
		reg = bytes_uleb(&r->program);
		cfi_state_set_register(&r->state, r->arch, reg, bytes_uleb(&r->program));
		return true;
	case OP_DEF_CFA_SF:
		reg = bytes_uleb(&r->program);
		cfi_state_set_cfa(&r->state, r->arch, reg, read_signed_factored(r));
		return true;
	case OP_DEF_CFA_OFFSET_SF:
		cfi_state_set_cfa_offset(&r->state, read_signed_factored(r));
		return true;
	case OP_VAL_OFFSET:
		reg = bytes_uleb(&r->program);
		cfi_state_set_val_offset(&r->state, r->arch, reg, read_factored(r));
		return true;
	case OP_VAL_OFFSET_SF:
		reg = bytes_uleb(&r->program);
		cfi_state_set_val_offset(&r->state, r->arch, reg, read_signed_factored(r));
		return true;
	case OP_AARCH64_NEGATE_RA_STATE:
	case OP_AARCH64_NEGATE_RA_STATE_WITH_PC:
		return negate_ra_state(r);
	case OP_GNU_ARGS_SIZE:
		bytes_uleb(&r->program);
		return true;
	default:
		return step_expression(r, op);
	}
}

/* Runs one instruction, its first byte read; false where none can follow. */
static __attribute__((noinline)) bool step(struct run *r, uint8_t op)
{
	uint64_t reg, factor = r->cie->code_factor;

	switch (op) {
	case OP_ADVANCE_LOC ... OP_ADVANCE_LOC + 63:
		return advance(r, (op & 63) * factor);
	case OP_ADVANCE_LOC1:
		return advance(r, bytes_u8(&r->program) * factor);
	case OP_ADVANCE_LOC2:
		return advance(r, bytes_u16(&r->program) * factor);
	case OP_ADVANCE_LOC4:
		return advance(r, bytes_u32(&r->program) * factor);
	case OP_NOP:
		return true;
	}
	r->changed = true;
	switch (op) {
	case OP_OFFSET ... OP_OFFSET + 63:
		cfi_state_set_offset(&r->state, r->arch, op & 63, read_factored(r));
		return true;
	case OP_RESTORE ... OP_RESTORE + 63:
		cfi_state_restore(&r->state, r->arch, op & 63, r->initial);
		return true;
	case OP_REMEMBER_STATE:
		return remember(r);
	case OP_RESTORE_STATE:
		return recall(r);
	case OP_DEF_CFA:
		reg = bytes_uleb(&r->program);
		cfi_state_set_cfa(&r->state, r->arch, reg, read_offset(r));
		return true;
	case OP_DEF_CFA_REGISTER:
		cfi_state_set_cfa_register(&r->state, r->arch, bytes_uleb(&r->program));
		return true;
	case OP_DEF_CFA_OFFSET:
		cfi_state_set_cfa_offset(&r->state, read_offset(r));
		return true;
	default:
		return step_rare(r, op);
	}
}

/* An operand of one or two bytes; false where it is longer, or is not there. */
static inline bool read_short(const uint8_t **at, const uint8_t *end, uint32_t *value)
{
	const uint8_t *b = *at;

	if (b < end && b[0] < 0x80) {
		*value = b[0];
		*at = b + 1;
		return true;
	}
	if (end - b < 2 || b[1] >= 0x80)
		return false;
	*value = (b[0] & 0x7f) | (uint32_t)b[1] << 7;
	*at = b + 2;
	return true;
}

/* DW_CFA_offset of a short offset that is certain to be told; false: let step() see. */
static inline bool set_short_offset(const struct run *r, struct rule_words *rule, uint8_t reg,
				    uint32_t offset)
{
	enum unwind_value value = unwind_arch_value(r->arch, reg);

	if (value == UNWIND_VALUE_NONE)
		return true;
	if ((value != UNWIND_VALUE_FP && value != UNWIND_VALUE_BASE) || r->cie->data_factor != -8)
		return false;
	rule_set_value(rule, value, UNWIND_AT_CFA, (int16_t)-offset);
	return true;
}

/* How far an instruction advances, before the factor; false where it is none that is short. */
static inline bool read_short_delta(uint8_t op, const uint8_t **at, const uint8_t *end,
				    uint64_t *delta)
{
	const uint8_t *b = *at;

	if (op >= OP_ADVANCE_LOC && op < OP_OFFSET) {
		*delta = op & 63;
		return true;
	}
	if (op == OP_ADVANCE_LOC1 && b < end) {
		*delta = b[0];
		*at = b + 1;
		return true;
	}
	if (op != OP_ADVANCE_LOC2 || end - b < 2)
		return false;
	*delta = b[0] | (uint64_t)b[1] << 8;
	*at = b + 2;
	return true;
}

/*
 * The instructions that nearly all programs consist of, run without a call: this loop decides what
 * a row costs. The rule is kept in registers meanwhile. Returns at an instruction that takes more,
 * or whenever a state may be in force whose rule cannot be taken as it is; true at the end.
 */
static bool execute_short(struct run *r)
{
	const uint8_t *at = r->program.at, *end = r->program.end, *next;
	struct rule_words rule = r->state.rule;
	bool changed = r->changed, more = true;
	uint64_t delta;
	uint32_t operand;

	while (more && at < end) {
		uint8_t op = *at;

		next = at + 1;
		if (op == OP_DEF_CFA_OFFSET) {
			if (!read_short(&next, end, &operand))
				break;
			rule_set_cfa_offset(&rule, (int32_t)operand);
			changed = true;
		} else if (op >= OP_OFFSET && op < OP_RESTORE) {
			if (!read_short(&next, end, &operand) ||
			    !set_short_offset(r, &rule, op & 63, operand))
				break;
			changed = true;
		} else if (op != OP_NOP) {
			if (!read_short_delta(op, &next, end, &delta))
				break;
			delta *= r->cie->code_factor;
			if (changed && delta)
				rows_add(r->rows, r->loc, rows_rule(r->rows, rule));
			changed = changed && !delta;
			more = move_on(r, delta);
		}
		at = next;
	}
	r->program.at = at;
	r->state.rule = rule;
	r->changed = changed;
	return !more || at == end;
}

static void execute(struct run *r)
{
	bool more = true;

	while (more && !r->program.failed && r->program.at < r->program.end) {
		/* Nothing that is done there changes what this asks for. */
		bool is_plain = r->rows && cfi_state_is_plain(&r->state) &&
				rule_cfa_kind(r->state.rule) == UNWIND_CFA_REG &&
				!r->cie->is_signal_frame;

		if (!is_plain || !execute_short(r))
			more = step(r, *r->program.at++);
		else
			more = false;
	}
}

bool cfi_run_cie(const struct unwind_arch *arch, struct cie *cie, struct bytes program)
{
	struct cfi_state abi = {.rule = rule_pack(&arch->initial)};
	struct run r;

	r.program = program;
	r.arch = arch;
	r.cie = cie;
	r.initial = &abi;
	r.rows = NULL;
	r.loc = r.limit = 0;
	r.changed = false;
	r.depth = 0;
	r.state = abi;
	if (cie->is_signal_frame)
		rule_flip_flags(&r.state.rule, UNWIND_SIGNAL_FRAME);
	execute(&r);
	cie->initial = r.state;
	return !r.program.failed;
}

bool cfi_run_fde(const struct unwind_arch *arch, const struct cie *cie, const struct fde *fde,
		 uint64_t limit, struct rows *rows)
{
	struct run r;

	/* Not zeroed as a whole: that would cost more than many an FDE's program. */
	r.program = fde->program;
	r.arch = arch;
	r.cie = cie;
	r.initial = &cie->initial;
	r.rows = rows;
	r.loc = fde->start;
	r.limit = fde->end < limit ? fde->end : limit;
	r.changed = true;
	r.depth = 0;
	r.state = cie->initial;
	execute(&r);
	if (r.loc < r.limit && r.program.failed)
		rows_add(rows, r.loc, UNWIND_RULE_NONE);
	else if (r.loc < r.limit)
		advance(&r, r.limit - r.loc);
	return !r.program.failed;
}
