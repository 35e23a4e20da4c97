/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The core of the walker: one step from a frame to its caller, by a rule of an unwind table. It is
 * compiled twice, as BPF and natively, so that what runs in the kernel can be tested outside. The
 * includer defines
 *
 *	walk_read_word(frame, to, addr)		a word of the target's memory, 0 on success
 *	walk_read_pair(frame, to, addr)		two words that follow each other
 *	walk_word(frame)			bytes of a word: 4 or 8
 *	walk_is_arm64(frame)			is it an arm64 machine's?
 *	walk_pc_mask(frame)			the bits of a return address that are no signature
 *
 * Everything comes from the target, and anything may be wrong in it: a step says so, and never
 * takes what it could not read for the end of the stack.
 */
#ifndef PROF_BPF_WALK_H
#define PROF_BPF_WALK_H

#include <linux/types.h>

#include "bpf/unwind.h"

#define WALK_OTHER_REGS 32
/*
 * Where a program's entry has no CFI, it is a root all the same: so much code behind it belongs to
 * it. A shared library's entry means nothing, and is often the address of ordinary functions.
 */
#define WALK_ENTRY_SIZE 64
/* No frame is believed to be larger, where a frame pointer is all there is. */
#define WALK_FRAME_SIZE_MAX (8u << 20)
/* Words of the stack that are searched for a return address. */
#define WALK_SCAN_WORDS 256
#define WALK_CALL_SIZE 8 /* bytes before a return address that tell of the call */

/* Where the walk is. */
struct walk_frame {
	__u64 pc, sp, fp, base, ra;
	/*
	 * Where a callee has saved fp and base: they are read when a frame needs them, which few
	 * do. 0: they are known.
	 */
	__u64 fp_at, base_at;
	__u32 is_pc; /* pc was interrupted, and is no return address */
	/*
	 * sp is the caller's, and not only below it: arm64 keeps the frame pointer and the return
	 * address anywhere in a frame, so that where they are says nothing about its end.
	 */
	__u32 has_sp;
	__u32 by_fp; /* it was reached by a frame pointer, fp comes from memory */
	/*
	 * The general registers of the top frame, by DWARF number, are still good for CFAs: all
	 * frames so far were left by CFI. Code whose CFA rests on one of them is assembler, and
	 * what that calls is its own, which leaves the register alone.
	 */
	__u32 has_others;
	__u64 other[WALK_OTHER_REGS];
};

enum walk_result {
	WALK_STEPPED, /* there is a caller */
	WALK_END, /* the frame was the outermost one */
	WALK_NO_RULE, /* no CFI for this pc */
	WALK_UNKNOWN_REG, /* the CFA rests on a register that is not known here */
	WALK_BAD_CFA, /* the stack would not shrink */
	WALK_BAD_READ, /* the stack could not be read there */
};

#define WALK_INLINE static inline __attribute__((always_inline))

/* The value of a register of the frame; false where it is not known. */
WALK_INLINE int walk_reg(const struct walk_frame *f, __u32 reg, __u64 *value)
{
	switch (reg) {
	case UNWIND_REG_SP:
		*value = f->sp;
		return f->has_sp;
	case UNWIND_REG_FP:
		*value = f->fp;
		return 1;
	case UNWIND_REG_BASE:
		*value = f->base;
		return 1;
	case UNWIND_REG_RA:
		*value = f->ra;
		return f->is_pc; /* anywhere else a call has overwritten it */
	}
	reg -= UNWIND_REG_OTHER;
	if (!f->has_others || reg >= WALK_OTHER_REGS)
		return 0;
	*value = f->other[reg];
	return 1;
}

/*
 * A function that has saved x29 together with x30 has made it point there, and by its CFI that is
 * so far from the CFA: sp is not needed.
 */
WALK_INLINE enum walk_result walk_cfa_by_pair(const struct walk_frame *f,
					      const struct unwind_rule *rule, __u64 *cfa)
{
	if (rule->cfa_kind != UNWIND_CFA_REG || UNWIND_FP_KIND(rule->kinds) != UNWIND_AT_CFA ||
	    UNWIND_RA_KIND(rule->kinds) != UNWIND_AT_CFA || rule->ra_offset != rule->fp_offset + 1)
		return WALK_UNKNOWN_REG;
	*cfa = f->fp - (__s64)rule->fp_offset * walk_word(f);
	return WALK_STEPPED;
}

WALK_INLINE enum walk_result walk_cfa(const struct walk_frame *f, const struct unwind_rule *rule,
				      __u64 *cfa)
{
	__u64 value, index;

	if (!f->has_sp && rule->cfa_reg == UNWIND_REG_SP)
		return walk_cfa_by_pair(f, rule, cfa);
	if (!walk_reg(f, rule->cfa_reg, &value))
		return WALK_UNKNOWN_REG;
	if (rule->cfa_kind == UNWIND_CFA_INDEXED) {
		if (!walk_reg(f, UNWIND_INDEX_REG(rule->flags), &index))
			return WALK_UNKNOWN_REG;
		value += index * walk_word(f);
	}
	if (rule->cfa_kind == UNWIND_CFA_DEREF || rule->cfa_kind == UNWIND_CFA_INDEXED) {
		if (walk_read_word(f, &value, value + (__s64)rule->cfa_deref * walk_word(f)))
			return WALK_BAD_READ;
	} else if (rule->cfa_kind == UNWIND_CFA_PLT) {
		*cfa = value + walk_word(f) +
		       ((f->pc & 15) >= (__u32)rule->cfa_offset ? walk_word(f) : 0);
		return WALK_STEPPED;
	}
	*cfa = value + (__s64)rule->cfa_offset;
	return WALK_STEPPED;
}

/* Where the caller's value of a register is saved, by a rule that says so. */
WALK_INLINE enum walk_result walk_saved_at(const struct walk_frame *f,
					   const struct unwind_rule *rule, __u32 kind, __s16 offset,
					   __u64 cfa, __u64 *at)
{
	*at = cfa;
	if (kind == UNWIND_AT_REG && !walk_reg(f, UNWIND_AT_REG_BASE(rule->kinds), at))
		return WALK_UNKNOWN_REG;
	*at += (__s64)offset * walk_word(f);
	return WALK_STEPPED;
}

/*
 * The caller's value of a register that the next frames may do without. What is not known is 0, as
 * is what cannot be read: where a function returns, its registers lie below sp already, and a copy
 * of the stack lacks them.
 */
WALK_INLINE void walk_restore(const struct walk_frame *f, const struct unwind_rule *rule,
			      __u32 kind, __s16 offset, __u64 cfa, __u64 *value, __u64 *at)
{
	if (kind == UNWIND_SAME)
		return;
	*value = 0;
	if (kind == UNWIND_UNKNOWN || walk_saved_at(f, rule, kind, offset, cfa, at) != WALK_STEPPED)
		*at = 0;
}

WALK_INLINE void walk_load(const struct walk_frame *f, __u64 *value, __u64 *at)
{
	if (*at && walk_read_word(f, value, *at))
		*value = 0;
	*at = 0;
}

/* Is it of the usual kind, by which a step needs the register of the CFA and no other? */
WALK_INLINE int walk_is_usual(const struct walk_frame *f, const struct unwind_rule *rule)
{
	return rule->cfa_kind == UNWIND_CFA_REG &&
	       (rule->kinds & UNWIND_RA_AND_REG_MASK) == UNWIND_AT_CFA && f->has_sp;
}

WALK_INLINE int walk_needs_sp_alone(const struct walk_frame *f, const struct unwind_rule *rule)
{
	return rule->cfa_reg == UNWIND_REG_SP && walk_is_usual(f, rule);
}

/* What a step by that rule needs, or may need where it is not one of the usual kinds. */
WALK_INLINE void walk_load_needed(struct walk_frame *f, const struct unwind_rule *rule)
{
	int is_usual = walk_is_usual(f, rule);

	if (!is_usual || rule->cfa_reg == UNWIND_REG_FP)
		walk_load(f, &f->fp, &f->fp_at);
	if (!is_usual || rule->cfa_reg == UNWIND_REG_BASE)
		walk_load(f, &f->base, &f->base_at);
}

/* Where a step leads. */
struct walk_caller {
	__u64 cfa, pc;
	__u64 ra_at; /* where the pc was saved; 0: nowhere */
};

/* Finds the caller, once all that is needed for it is loaded. WALK_STEPPED: walk_to_caller() leads
 * there. */
WALK_INLINE enum walk_result
walk_find_caller(const struct walk_frame *f, const struct unwind_rule *rule, struct walk_caller *to)
{
	__u64 cfa = 0, pc = 0, at = 0;
	__u32 ra_kind = UNWIND_RA_KIND(rule->kinds);
	__u32 is_signal = rule->flags & UNWIND_SIGNAL_FRAME;
	enum walk_result result;

	if (rule->cfa_kind == UNWIND_CFA_NONE)
		return WALK_NO_RULE;
	if (rule->cfa_kind == UNWIND_CFA_END)
		return WALK_END;
	result = walk_cfa(f, rule, &cfa);
	if (result != WALK_STEPPED)
		return result;
	/* A handler may run on a stack of its own, so a signal frame may lead anywhere. */
	if (!is_signal && (f->is_pc ? cfa < f->sp : cfa <= f->sp))
		return WALK_BAD_CFA;
	if (ra_kind == UNWIND_SAME) {
		if (!walk_reg(f, rule->ra_offset, &pc))
			return WALK_UNKNOWN_REG; /* which a call has overwritten */
	} else if (ra_kind != UNWIND_UNKNOWN) {
		result = walk_saved_at(f, rule, ra_kind, rule->ra_offset, cfa, &at);
		if (result != WALK_STEPPED)
			return result;
		if (walk_read_word(f, &pc, at))
			return WALK_BAD_READ;
	}
	/* Where there is no caller, some have 0 in its place: Go at the bottom of all its stacks.
	 */
	if (!pc && !is_signal)
		return WALK_END;
	to->cfa = cfa;
	to->pc = pc;
	to->ra_at = at;
	return WALK_STEPPED;
}

WALK_INLINE void walk_to_caller(struct walk_frame *f, const struct unwind_rule *rule,
				const struct walk_caller *to)
{
	__u64 cfa = to->cfa, ra_at = to->ra_at;
	__u64 fp = f->fp, fp_at = f->fp_at, base = f->base, base_at = f->base_at;
	__u32 kinds = rule->kinds, is_signal = rule->flags & UNWIND_SIGNAL_FRAME;

	walk_restore(f, rule, UNWIND_FP_KIND(kinds), rule->fp_offset, cfa, &fp, &fp_at);
	walk_restore(f, rule, UNWIND_BASE_KIND(kinds), rule->base_offset, cfa, &base, &base_at);
	if (is_signal && walk_is_arm64(f) && ra_at) {
		ra_at -= 16;
		walk_load(f, &f->ra, &ra_at);
	}
	/* Rules say where it is signed; what has no CFI of its own cannot. */
	f->pc = to->pc & walk_pc_mask(f);
	f->sp = cfa;
	f->fp = fp;
	f->fp_at = fp_at;
	f->base = base;
	f->base_at = base_at;
	/* glibc's _dl_runtime_resolve forgets what the PLT pushed: its RA is above its CFA. */
	f->has_sp = !walk_is_arm64(f) || UNWIND_RA_KIND(kinds) != UNWIND_AT_CFA ||
		    rule->ra_offset < 0;
	f->is_pc = is_signal;
	f->by_fp = 0;
	f->has_others &= !is_signal;
}

/*
 * The number of the rule for a vaddr of the mapping; `words` is the shard that its table is in, and
 * `size` how many words that has, a power of two.
 */
WALK_INLINE __u32 walk_find_rule(const struct unwind_mapping *m, const __u32 *words, __u32 size,
				 __u64 vaddr)
{
	__u64 page = (vaddr - m->table_start) >> UNWIND_PAGE_SHIFT;
	__u32 low = vaddr & (UNWIND_PAGE_SIZE - 1), at, first, count;

	if (vaddr < m->table_start || page >= m->page_count)
		return UNWIND_RULE_NONE;
	at = m->index_at + (__u32)page;
	if (at >= size - 1)
		return UNWIND_RULE_NONE;
	first = words[at];
	count = words[at + 1] - first;
	/* The row before the page's first one is the answer where all of them begin later. */
	if (first) {
		first--;
		count++;
	} else if (!count) {
		return UNWIND_RULE_NONE;
	}
	/* A row a byte of the page, and the one before. */
	for (int i = 0; i < UNWIND_PAGE_SHIFT + 1 && count > 1; i++) {
		__u32 half = count / 2;
		/* The row before the page has a pc_low of its own page: it is never asked. */
		__u32 pc_low = words[(m->rows_at + first + half) & (size - 1)] & 0xffff;

		if (pc_low <= low)
			first += half;
		count -= half;
	}
	return words[(m->rows_at + first) & (size - 1)] >> 16;
}

/* With what that gave: is the vaddr a root by itself? */
WALK_INLINE int walk_is_entry(const struct unwind_mapping *m, __u32 number, __u64 vaddr)
{
	return number == UNWIND_RULE_NONE && m->entry && vaddr - m->entry < WALK_ENTRY_SIZE;
}

/* A frame that keeps a frame pointer: [fp] is the caller's, the next word the return address. */
WALK_INLINE int walk_frame_pointer(struct walk_frame *f, __u64 pair[2])
{
	walk_load(f, &f->fp, &f->fp_at);
	if (f->fp < f->sp || f->fp - f->sp > WALK_FRAME_SIZE_MAX || f->fp & (walk_word(f) - 1))
		return 0;
	if (walk_read_pair(f, pair, f->fp))
		return 0;
	pair[1] &= walk_pc_mask(f);
	return 1;
}

/* To the caller, whose pc was found by other means than CFI and whose sp is, or is above, that. */
WALK_INLINE void walk_to_return(struct walk_frame *f, __u64 pc, __u64 sp)
{
	f->pc = pc;
	f->sp = sp;
	f->has_sp = !walk_is_arm64(f);
	f->has_others = f->is_pc = f->by_fp = 0;
}

WALK_INLINE void walk_to_frame_pointer(struct walk_frame *f, const __u64 pair[2])
{
	walk_to_return(f, pair[1], f->fp + 2 * walk_word(f));
	f->fp = pair[0];
	f->by_fp = 1;
}

/*
 * arm64: interrupted code without CFI has its return address in the link register, until it calls
 * something; from then on that points into the same code. If it has made a frame with that address,
 * the frame pointer leads on as well, and better.
 */
WALK_INLINE int walk_link_register(struct walk_frame *f, __u64 *pc)
{
	__u64 pair[2];

	if (!f->is_pc)
		return 0;
	*pc = f->ra & walk_pc_mask(f);
	return !walk_frame_pointer(f, pair) || pair[1] != *pc;
}

/* The outermost frame of a chain of frame pointers has none: the ABIs say so, and Go does it. */
WALK_INLINE int walk_is_chain_end(const struct walk_frame *f, const struct unwind_mapping *m)
{
	return f->by_fp && !f->fp && !(m->flags & UNWIND_PENDING);
}

/* Do these bytes, the last of which lies just before a return address, end in a call? */
WALK_INLINE int walk_is_call(const __u8 b[WALK_CALL_SIZE], int is_arm64)
{
	if (is_arm64) {
		__u32 insn = b[4] | b[5] << 8 | b[6] << 16 | (__u32)b[7] << 24;

		return (insn & 0xfc000000) == 0x94000000 || (insn & 0xfffffc1f) == 0xd63f0000;
	}
	if (b[3] == 0xe8)
		return 1;
	/* ff /2: by a register, by memory with no, one or four bytes of displacement, with an index
	 */
	return (b[6] == 0xff && (b[7] & 0x38) == 0x10) || (b[5] == 0xff && (b[6] & 0x38) == 0x10) ||
	       (b[4] == 0xff && (b[5] & 0x38) == 0x10) || (b[2] == 0xff && (b[3] & 0x38) == 0x10) ||
	       (b[1] == 0xff && (b[2] & 0x38) == 0x10);
}

#endif
