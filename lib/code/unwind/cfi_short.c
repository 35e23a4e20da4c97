/* SPDX-License-Identifier: MIT */
#include "lib/code/unwind/cfi_short.h"

/* Read at once: an advance, and an instruction with an operand of two bytes. */
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
	/* An advance by 0 ends no row. */
	return op > OP_ADVANCE_LOC && op < OP_OFFSET;
}

static inline void end_row(const struct program *p)
{
	struct rows *rows = p->run->rows;

	rows_add(rows, p->loc, rows_rule(rows, p->rule));
}

/* Goes to a later row. False at the end of the FDE's code. */
static inline bool advance(struct program *p, uint64_t delta)
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
 * These return false if the program's end cuts the instruction, or the fast path cannot handle it.
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
	return !delta || advance(p, delta);
}

static inline bool remember(struct program *p)
{
	struct cfi_run *r = p->run;

	if (r->depth == CFI_MAX_REMEMBERED)
		return false;
	r->state.rule = p->rule;
	r->remembered[r->depth++] = r->state;
	p->at++;
	return true;
}

static inline bool recall(struct program *p)
{
	struct cfi_run *r = p->run;

	if (!r->depth || !cfi_state_is_short(&r->remembered[r->depth - 1]))
		return false;
	r->state = r->remembered[--r->depth];
	p->rule = r->state.rule;
	p->at++;
	return true;
}

/* Skips the no-ops that pad an FDE, as many as are in `bytes`. */
static inline void pass_nops(struct program *p, word bytes)
{
	p->at += bytes ? __builtin_ctz(bytes) / 8 : 1;
	if (p->at > p->end)
		p->at = p->end;
}

static inline bool run_other(struct program *p, word bytes)
{
	/* The program ended with the advance. */
	if (p->at == p->end)
		return false;
	switch ((uint8_t)bytes) {
	case OP_NOP:
		pass_nops(p, bytes);
		return true;
	case OP_REMEMBER_STATE:
		return remember(p);
	case OP_RESTORE_STATE:
		return recall(p);
	case OP_ADVANCE_LOC1:
		return advance_long(p, bytes >> 8 & 0xff, 2);
	case OP_ADVANCE_LOC2:
		return advance_long(p, bytes >> 8 & 0xffff, 3);
	default:
		return is_advance((uint8_t)bytes);
	}
}

bool cfi_run_short(struct cfi_run *r)
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
			if (!advance(&p, (uint8_t)bytes - OP_ADVANCE_LOC))
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
