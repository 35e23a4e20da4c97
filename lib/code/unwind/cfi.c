/* SPDX-License-Identifier: MIT */
#include "lib/code/unwind/cfi.h"

#include "lib/code/unwind/cfi_short.h"
#include "lib/code/unwind/pointer.h"

/* An offset that no rule can express: not a multiple of a word, and too large. */
#define UNTOLD_OFFSET INT64_MAX

/* Reads an unfactored offset, in bytes. */
static inline int64_t read_offset(struct cfi_run *r)
{
	uint64_t offset = bytes_uleb(&r->program);

	return offset <= INT32_MAX ? (int64_t)offset : UNTOLD_OFFSET;
}

static int64_t factored(const struct cfi_run *r, int64_t offset)
{
	if (offset < INT32_MIN || offset > INT32_MAX)
		return UNTOLD_OFFSET;
	return offset * r->cie->data_factor;
}

static inline int64_t read_factored(struct cfi_run *r)
{
	return factored(r, read_offset(r));
}

static int64_t read_signed_factored(struct cfi_run *r)
{
	return factored(r, bytes_sleb(&r->program));
}

/* Reads an expression; `pushed` as for expression_recognize(). */
static struct expression read_expression(struct cfi_run *r, uint64_t pushed)
{
	struct bytes code = bytes_sub(&r->program, bytes_uleb(&r->program));
	uint64_t pc = r->arch->ra_is_register ? EXPRESSION_NO_REG : r->arch->ra_column;

	return expression_recognize(code, pc, pushed, r->arch->word);
}

static uint16_t find_rule(struct cfi_run *r)
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

/* Ends the row that began at loc. False at the end of the FDE, or on failure. */
static bool advance(struct cfi_run *r, uint64_t delta)
{
	if (!delta)
		return true;
	/* A CIE covers no code to advance in. */
	if (!r->rows)
		r->program.failed = true;
	if (r->program.failed)
		return false;
	if (r->changed)
		rows_add(r->rows, r->loc, find_rule(r));
	r->changed = false;
	if (delta >= r->limit - r->loc) {
		r->loc = r->limit;
		return false;
	}
	r->loc += delta;
	return true;
}

static bool set_loc(struct cfi_run *r)
{
	uint64_t loc = pointer_read(&r->program, r->cie->pc_encoding, r->cie->section_vaddr, 0);

	if (loc < r->loc)
		r->program.failed = true;
	return advance(r, r->program.failed ? 0 : loc - r->loc);
}

/* Applies the code factor, although machines with this instruction do not use one. */
static bool advance_loc8(struct cfi_run *r)
{
	uint64_t delta = bytes_u64(&r->program);

	if (delta > UINT32_MAX)
		r->program.failed = true;
	return advance(r, r->program.failed ? 0 : delta * r->cie->code_factor);
}

static bool remember(struct cfi_run *r)
{
	if (r->depth == CFI_MAX_REMEMBERED)
		r->program.failed = true;
	else
		r->remembered[r->depth++] = r->state;
	return true;
}

static bool recall(struct cfi_run *r)
{
	if (!r->depth)
		r->program.failed = true;
	else
		r->state = r->remembered[--r->depth];
	return true;
}

/* On other machines this number is DW_CFA_GNU_window_save, which is invalid here. */
static bool negate_ra_state(struct cfi_run *r)
{
	if (!r->arch->has_signed_ra)
		r->program.failed = true;
	rule_flip_flags(&r->state.rule, UNWIND_RA_SIGNED);
	return true;
}

static bool step_expression(struct cfi_run *r, uint8_t op)
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

static bool step_rare(struct cfi_run *r, uint8_t op)
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

/* Runs one instruction, whose first byte is `op`. False if none can follow. */
static __attribute__((noinline)) bool step(struct cfi_run *r, uint8_t op)
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

static void execute(struct cfi_run *r)
{
	bool more = true;

	while (more && !r->program.failed && r->program.at < r->program.end) {
		if (cfi_can_run_short(r) && cfi_run_short(r))
			more = false;
		else
			more = step(r, *r->program.at++);
	}
}

bool cfi_run_cie(const struct unwind_arch *arch, struct cie *cie, struct bytes program)
{
	struct cfi_state abi = {.rule = rule_pack(&arch->initial)};
	struct cfi_run r;

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
	struct cfi_run r;

	/* Zeroing all of r would cost more than many an FDE's program. */
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
