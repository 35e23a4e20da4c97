/* SPDX-License-Identifier: MIT */
#include "lib/code/unwind/cfi.h"

#include "lib/code/unwind/cfi_data.h"

/*
 * The state of a running CFI program (DWARF 5, section 6.4.2), and a fast path for most programs.
 */

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
	/* The following have their operand in the low six bits. */
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

/*
 * Returns true if the state equals its rule, and still does after any instruction of
 * cfi_run_short().
 */
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

/* Read at once: a cfi_short_advance and an instruction with an operand of two bytes. */
typedef uint32_t word;

/*
 * The state that changes with each instruction. Separate from struct cfi_run so that it fits into
 * registers.
 */
struct program {
	const uint8_t *at, *end;
	struct rule_words rule;
	uint64_t loc, limit, factor;
	struct cfi_run *run;
};

_Static_assert(sizeof(word) <= CFI_SHORT_READ, "what may be read behind a program");

static inline word load_word(const uint8_t *at)
{
	word bytes;

	memcpy(&bytes, at, sizeof(bytes));
	return le32toh(bytes);
}

static inline bool is_advance(uint8_t op)
{
	/* A cfi_short_advance by 0 ends no row. */
	return op > OP_ADVANCE_LOC && op < OP_OFFSET;
}

static inline void end_row(const struct program *p)
{
	struct rows *rows = p->run->rows;

	rows_add(rows, p->loc, rows_rule(rows, p->rule));
}

/* Advances to a later row. False at the end of the FDE's code. */
static inline bool cfi_short_advance(struct program *p, uint64_t delta)
{
	end_row(p);
	delta *= p->factor;
	if (delta >= p->limit - p->loc) {
		p->loc = p->limit;
		return false;
	}
	p->loc += delta;
	return true;
}

/*
 * Return false if the instruction is cut off by the program's end, or not supported by the fast
 * path.
 */

static inline bool set_cfa_offset(struct program *p, word bytes)
{
	uint32_t offset = bytes >> 8 & 0x7f;
	const uint8_t *next = p->at + 2;

	if (bytes & 0x8000) {
		if (bytes & 0x800000)
			return false;
		offset |= bytes >> 9 & 0x3f80;
		next++;
	}
	if (next > p->end)
		return false;
	rule_set_cfa_offset(&p->rule, (int32_t)offset);
	p->at = next;
	return true;
}

/* Runs DW_CFA_offset with an offset of one byte. */
static inline bool save(struct program *p, word bytes)
{
	enum unwind_value value = unwind_arch_value(p->run->arch, bytes & 63);

	if ((bytes & 0x8000) || p->end - p->at < 2)
		return false;
	if (value != UNWIND_VALUE_NONE) {
		if (value != UNWIND_VALUE_FP && value != UNWIND_VALUE_BASE)
			return false;
		rule_set_value(&p->rule, value, UNWIND_AT_CFA, (int16_t)(-(bytes >> 8 & 0x7f)));
	}
	p->at += 2;
	return true;
}

static inline bool advance_long(struct program *p, uint64_t delta, unsigned int size)
{
	if (p->end - p->at < size)
		return false;
	p->at += size;
	return !delta || cfi_short_advance(p, delta);
}

static inline bool cfi_short_remember(struct program *p)
{
	struct cfi_run *r = p->run;

	if (r->depth == CFI_MAX_REMEMBERED)
		return false;
	r->state.rule = p->rule;
	r->remembered[r->depth++] = r->state;
	p->at++;
	return true;
}

static inline bool cfi_short_recall(struct program *p)
{
	struct cfi_run *r = p->run;

	if (!r->depth || !cfi_state_is_short(&r->remembered[r->depth - 1]))
		return false;
	r->state = r->remembered[--r->depth];
	p->rule = r->state.rule;
	p->at++;
	return true;
}

/* Skips the no-ops in `bytes` that pad an FDE. */
static inline void pass_nops(struct program *p, word bytes)
{
	p->at += bytes ? __builtin_ctz(bytes) / 8 : 1;
	if (p->at > p->end)
		p->at = p->end;
}

static inline bool run_other(struct program *p, word bytes)
{
	/* The program ended with the cfi_short_advance. */
	if (p->at == p->end)
		return false;
	switch ((uint8_t)bytes) {
	case OP_NOP:
		pass_nops(p, bytes);
		return true;
	case OP_REMEMBER_STATE:
		return cfi_short_remember(p);
	case OP_RESTORE_STATE:
		return cfi_short_recall(p);
	case OP_ADVANCE_LOC1:
		return advance_long(p, bytes >> 8 & 0xff, 2);
	case OP_ADVANCE_LOC2:
		return advance_long(p, bytes >> 8 & 0xffff, 3);
	default:
		return is_advance((uint8_t)bytes);
	}
}

/*
 * Runs the instructions that make up nearly all programs; this loop determines the cost of a row.
 * Returns true after adding the last row; false before an instruction that is not supported here,
 * or that leads to a state that differs from its rule. Requires cfi_can_run_short().
 */
static bool cfi_run_short(struct cfi_run *r)
{
	struct program p = {
		.at = r->program.at,
		.end = r->program.end,
		.rule = r->state.rule,
		.loc = r->loc,
		.limit = r->limit,
		.factor = r->cie->code_factor,
		.run = r,
	};
	bool more = true;

	while (more && p.at < p.end) {
		word bytes = load_word(p.at);

		if (is_advance((uint8_t)bytes)) {
			p.at++;
			if (!cfi_short_advance(&p, (uint8_t)bytes - OP_ADVANCE_LOC))
				break;
			bytes >>= 8;
		}
		if ((uint8_t)bytes == OP_DEF_CFA_OFFSET)
			more = set_cfa_offset(&p, bytes);
		else if ((bytes & 0xc0) == OP_OFFSET)
			more = save(&p, bytes);
		else
			more = run_other(&p, bytes);
	}
	if (p.loc < p.limit && p.at == p.end) {
		end_row(&p);
		p.loc = p.limit;
	}
	r->program.at = p.at;
	r->state.rule = p.rule;
	r->loc = p.loc;
	r->changed = true;
	return p.loc == p.limit;
}

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

/* Stack reserved by GHC's StgRun() for C code that compiled Haskell calls. */
#define GHC_C_STACK 16384

/*
 * Notes the rule of StgReturn(), to which compiled Haskell finally returns. Haskell has a separate
 * stack and leaves sp alone, so this is also the rule of all its code, which has no CFI. No other
 * code is known to state such a stack pointer.
 */
static void note_mutator(struct cfi_run *r, struct rule_words rule)
{
	if (r->state.sp == CFI_SP_MOVED && rule_cfa_offset(rule) > GHC_C_STACK)
		r->rows->mutator = rows_rule(r->rows, rule);
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
	if (cfi_state_rule(&r->state, r->arch->word, &rule)) {
		note_mutator(r, rule);
		return rows_rule(r->rows, rule);
	}
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
		reg = bytes_uleb(&r->program);
		e = read_expression(r, EXPRESSION_CFA);
		cfi_state_set_val_expression(&r->state, r->arch, reg, &e);
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

/* Runs one instruction, whose first byte is `op`. Returns false if none can follow. */
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

	/* Zeroing all of r would cost more than many FDEs' programs. */
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
