/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The core of the walker: one step from a frame to its caller, by a rule of an unwind table. It is
 * compiled twice, as BPF and natively, so that tests can run the kernel's code outside. The
 * includer defines
 *
 *	walk_read_word(frame, to, addr)		reads a word of the target's memory, 0 on success
 *	walk_read_pair(frame, to, addr)		reads two consecutive words
 *	walk_read_words(frame, to, addr, count)	reads a constant number of them
 *	walk_word(frame)			bytes of a word: 4 or 8
 *	walk_is_arm64(frame)			whether the target is an arm64 machine
 *	walk_pc_mask(frame)			bits of a return address without its signature
 *	walk_thread_pointer(frame)		base address of thread-local variables
 *
 * All input comes from the target and may be wrong. A step reports unreadable memory, and never
 * mistakes it for the end of the stack.
 */
#pragma once

#include <linux/types.h>

#include "bpf/unwind.h"
#include "bpf/walk_table.h"

#define WALK_OTHER_REGS 32
/* Largest plausible frame, in bytes, when only a frame pointer is known. */
#define WALK_FRAME_SIZE_MAX (8u << 20)
/* Words of the stack searched for a return address. */
#define WALK_SCAN_WORDS 256
#define WALK_CALL_SIZE 8 /* bytes before a return address to examine for a call */
#define WALK_CALLEE_SIZE 256 /* bytes of a called function to examine for jumps */
/* Bytes after a function's start that probably belong to it. */
#define WALK_FUNCTION_SIZE (64u << 10)
#define WALK_LEAF_SIZE 4096 /* likewise, for a function without calls */
#define WALK_RETURN_SIZE 1024 /* bytes of code to examine for the function's return */
#define WALK_ENDBR 0xfa1e0ff3 /* endbr64, possible first instruction of a function */
#define WALK_ENDBR_SIZE 4

/* The current frame of the walk. */
struct walk_frame {
	__u64 pc;
	union {
		struct {
			__u64 sp, fp, base, ra;
			/* General registers, by DWARF number; see has_others. */
			__u64 other[WALK_OTHER_REGS];
		};
		__u64 regs[UNWIND_REG_OTHER + WALK_OTHER_REGS]; /* by enum unwind_reg */
	};
	/*
	 * Addresses where a callee saved fp and base, which are read only when a frame needs them;
	 * few do. 0: the value is loaded.
	 */
	__u64 fp_at, base_at;
	__u32 is_pc; /* pc was interrupted; not a return address */
	/*
	 * sp is exact, not just a lower bound. arm64 keeps the frame pointer and the return address
	 * anywhere in a frame, so their position does not reveal the end of the frame.
	 */
	__u32 has_sp;
	__u32 by_fp; /* reached by a frame pointer: fp comes from memory */
	__u32 by_scan; /* this frame, or one inside it, was guessed by walk_to_guess() */
	/*
	 * The general registers of the top frame, by DWARF number, are still valid for CFAs: all
	 * frames so far were left by CFI. Code whose CFA depends on one of them is assembler; its
	 * callees, from the same source, preserve the register. More than 1: no longer valid
	 * because of a signal frame, but still the registers of the runtime that handles it.
	 */
	__u32 has_others;
};

enum walk_result {
	WALK_STEPPED, /* found the caller */
	WALK_END, /* the frame was the outermost one */
	WALK_NO_RULE, /* no CFI for this pc, or a rule for walk_find_other_stack() */
	WALK_UNKNOWN_REG, /* the CFA needs a register that is unknown here */
	WALK_BAD_CFA, /* the stack would not shrink */
	WALK_BAD_READ, /* the stack could not be read */
};

/* Stores the value of a register of the frame. False: unknown. */
WALK_INLINE int walk_reg(const struct walk_frame *f, __u32 reg, __u64 *value)
{
	/*
	 * A bit per register, the last one for all others: each branch would double the verifier's
	 * work. In all frames but the innermost, a call has overwritten the return address.
	 */
	__u32 known = f->has_sp | 1 << UNWIND_REG_FP | 1 << UNWIND_REG_BASE |
		      f->is_pc << UNWIND_REG_RA | (f->has_others & 1) << UNWIND_REG_OTHER;

	if (reg >= UNWIND_REG_OTHER + WALK_OTHER_REGS)
		return 0;
	*value = f->regs[reg];
	return known >> (reg < UNWIND_REG_OTHER ? reg : UNWIND_REG_OTHER) & 1;
}

/*
 * A function that saves x29 together with x30 makes x29 point to the pair. Its CFI gives the pair's
 * distance from the CFA, so sp is not needed.
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
	if (rule->cfa_kind >= UNWIND_CFA_DEREF && rule->cfa_kind <= UNWIND_CFA_DEREF_TWICE) {
		if (walk_read_word(f, &value, value + (__s64)rule->cfa_deref * walk_word(f)))
			return WALK_BAD_READ;
		if (rule->cfa_kind == UNWIND_CFA_DEREF_TWICE &&
		    walk_read_word(f, &value,
				   value + UNWIND_INDEX_REG(rule->flags) * (__u64)walk_word(f)))
			return WALK_BAD_READ;
	} else if (rule->cfa_kind == UNWIND_CFA_PLT) {
		*cfa = value + walk_word(f) +
		       ((f->pc & 15) >= (__u32)rule->cfa_offset ? walk_word(f) : 0);
		return WALK_STEPPED;
	} else if (rule->cfa_kind == UNWIND_CFA_CLONE) {
		if (!walk_reg(f, UNWIND_REG_OTHER, &index))
			return WALK_UNKNOWN_REG;
		if (!index)
			return WALK_END;
	}
	*cfa = value + (__s64)rule->cfa_offset;
	return WALK_STEPPED;
}

/* Computes the address at which the caller's value of a register is saved according to the rule. */
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
 * Restores the caller's value of a register that later frames may not need. Unknown and unreadable
 * values become 0: where a function returns, its saved registers lie below sp already, and a copy
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

/* Returns whether it is a common rule, for which a step needs only the CFA's register. */
WALK_INLINE int walk_is_usual(const struct walk_frame *f, const struct unwind_rule *rule)
{
	return rule->cfa_kind == UNWIND_CFA_REG &&
	       (rule->kinds & UNWIND_RA_AND_REG_MASK) == UNWIND_AT_CFA && f->has_sp;
}

WALK_INLINE int walk_needs_sp_alone(const struct walk_frame *f, const struct unwind_rule *rule)
{
	return rule->cfa_reg == UNWIND_REG_SP && walk_is_usual(f, rule);
}

/*
 * Loads the registers that a step by the rule needs; for uncommon rules, all that it may
 * need.
 */
WALK_INLINE void walk_load_needed(struct walk_frame *f, const struct unwind_rule *rule)
{
	int is_usual = walk_is_usual(f, rule);

	if (!is_usual || rule->cfa_reg == UNWIND_REG_FP)
		walk_load(f, &f->fp, &f->fp_at);
	if (!is_usual || rule->cfa_reg == UNWIND_REG_BASE)
		walk_load(f, &f->base, &f->base_at);
}

/*
 * Returns whether the rule may lead to another stack, above or below. A signal handler may have its
 * own stack. Code that switches to the thread's stack for calls of C keeps its sp in the base
 * register, and fibers keep their parents' in memory.
 */
WALK_INLINE int walk_may_switch(const struct unwind_rule *rule)
{
	return rule->flags & UNWIND_SIGNAL_FRAME || rule->cfa_reg == UNWIND_REG_BASE ||
	       rule->cfa_kind == UNWIND_CFA_DEREF_TWICE;
}

/* The result of a step. */
struct walk_caller {
	__u64 cfa, pc;
	__u64 ra_at; /* address at which the pc was saved; 0: none */
};

/*
 * Finds the caller; call walk_load_needed() first. After WALK_STEPPED, walk_to_caller() goes there.
 */
WALK_INLINE enum walk_result
walk_find_caller(const struct walk_frame *f, const struct unwind_rule *rule, struct walk_caller *to)
{
	__u64 cfa = 0, pc = 0, at = 0;
	__u32 ra_kind = UNWIND_RA_KIND(rule->kinds);
	__u32 is_signal = rule->flags & UNWIND_SIGNAL_FRAME;
	enum walk_result result;

	/* One comparison: UNWIND_CFA_NONE, which is 0, becomes the largest. */
	if ((__u8)(rule->cfa_kind - 1) >= UNWIND_CFA_OTHER_STACK - 1)
		return WALK_NO_RULE;
	if (rule->cfa_kind == UNWIND_CFA_END)
		return WALK_END;
	result = walk_cfa(f, rule, &cfa);
	if (result != WALK_STEPPED)
		return result;
	if (!walk_may_switch(rule) && (f->is_pc ? cfa < f->sp : cfa <= f->sp))
		return WALK_BAD_CFA;
	if (ra_kind == UNWIND_SAME) {
		if (!walk_reg(f, rule->ra_offset, &pc))
			return WALK_UNKNOWN_REG; /* a call has overwritten it */
	} else if (ra_kind != UNWIND_UNKNOWN) {
		result = walk_saved_at(f, rule, ra_kind, rule->ra_offset, cfa, &at);
		if (result != WALK_STEPPED)
			return result;
		if (walk_read_word(f, &pc, at))
			return WALK_BAD_READ;
	}
	/*
	 * Some outermost frames have 0 as return address: Go's, on all its stacks. Other words can
	 * be 0 as well: after a guess, or in code interrupted where its rules do not apply, 0
	 * proves nothing.
	 */
	if (!pc && !is_signal)
		return ra_kind != UNWIND_UNKNOWN && f->is_pc | f->by_scan ? WALK_BAD_READ
									  : WALK_END;
	to->cfa = cfa;
	to->pc = pc;
	to->ra_at = at;
	return WALK_STEPPED;
}

/*
 * Finds where the thread's goroutine left its stack for the system stack: sets to->cfa to its sp
 * and to->pc to its pc. 0: the thread runs no goroutine; -1: unreadable or inconsistent.
 */
WALK_INLINE int walk_goroutine(const struct walk_frame *f, const struct unwind_rule *rule,
			       struct walk_caller *to)
{
	__u64 g, m, current, own_m, saved[2], bounds[2], thread = walk_thread_pointer(f);
	__u32 packed = (__u16)rule->base_offset, reg = rule->cfa_reg - UNWIND_REG_OTHER;

	if (reg < WALK_OTHER_REGS) {
		/* Go's signal handler has its own g in the register, with the thread's m. */
		if (!f->has_others)
			return -1;
		g = f->other[reg];
	} else if (!thread || walk_read_word(f, &g, thread + (__s64)rule->cfa_deref * 8)) {
		return -1;
	}
	if (walk_read_word(f, &m, g + GO_M_AT(packed) * 8) ||
	    walk_read_word(f, &current, m + GO_CURG_AT(packed) * 8))
		return -1;
	if (!current)
		return 0;
	if (walk_read_word(f, &own_m, current + GO_M_AT(packed) * 8) || own_m != m ||
	    walk_read_pair(f, saved, current + GO_SP_AT(packed) * 8))
		return -1;
	/*
	 * morestack has saved both words itself. It leads to code that moves the stack:
	 * temporarily, the bounds are those of the new stack while sp is still in the old one.
	 */
	if (UNWIND_RA_KIND(rule->kinds) == UNWIND_AT_CFA &&
	    (walk_read_pair(f, bounds, current) || saved[0] <= bounds[0] || saved[0] > bounds[1]))
		return -1;
	to->cfa = saved[0];
	to->pc = saved[1];
	if (walk_is_arm64(f))
		to->ra_at = current + (GO_SP_AT(packed) + 1) * 8;
	return 1;
}

/*
 * Finds the sp with which Go's asmcgocall was called, in its frame on the system stack; sets
 * to->cfa.
 */
WALK_INLINE int walk_go_depth(const struct walk_frame *f, const struct unwind_rule *rule,
			      struct walk_caller *to)
{
	__u64 g, depth, bounds[2];

	if (walk_read_word(f, &g, f->sp + (__s64)rule->base_offset * 8) ||
	    walk_read_word(f, &depth, f->sp + (__s64)rule->cfa_deref * 8))
		return -1;
	to->cfa = depth;
	if (!g)
		return 1;
	if (walk_read_pair(f, bounds, g) || depth > bounds[1] - bounds[0])
		return -1;
	to->cfa = bounds[1] - depth;
	return 1;
}

/*
 * Does the same as walk_find_caller() for rules that lead to another stack, which may lie above or
 * below. fp must be loaded.
 */
WALK_INLINE enum walk_result walk_find_other_stack(const struct walk_frame *f,
						   const struct unwind_rule *rule,
						   struct walk_caller *to)
{
	int found = 1;

	to->cfa = f->fp;
	if (rule->cfa_kind == UNWIND_CFA_GOROUTINE)
		found = walk_goroutine(f, rule, to);
	else if (rule->cfa_kind == UNWIND_CFA_GO_DEPTH)
		found = walk_go_depth(f, rule, to);
	if (found <= 0)
		return found ? WALK_BAD_READ : WALK_END;
	to->cfa += (__s64)rule->cfa_offset;
	/* For a goroutine whose stack is being moved, the pc is only next to its sp. */
	if (UNWIND_RA_KIND(rule->kinds) == UNWIND_AT_CFA) {
		to->ra_at = to->cfa + (__s64)rule->ra_offset * 8;
		if (walk_read_word(f, &to->pc, to->ra_at))
			return WALK_BAD_READ;
	}
	return to->pc ? WALK_STEPPED : WALK_END;
}

/*
 * Erlang's compiled code (UNWIND_CFA_ERLANG). Its processes have stacks of their own; for calls of
 * C it switches to the scheduler's stack. Base points to the scheduler's registers, r12 is the
 * index of the active code, and r13 the process. C code preserves these, and saves the last two
 * side by side.
 */

/* Words of a frame to search: variables are numbered up to 1,023. */
#define WALK_ERLANG_WORDS 1040
/* Words of the C frames to search for the process; functions save it where they begin. */
#define WALK_ERLANG_SAVED_WORDS 256
#define WALK_ERLANG_CODE_INDEXES 4
#define WALK_ERLANG_PROCESS 13
#define WALK_ERLANG_SCHEDULER_BYTES 4096 /* below the place at which C is called */

WALK_INLINE int walk_is_on_scheduler(const struct walk_frame *f, const struct unwind_rule *rule)
{
	return f->base + (__s64)rule->cfa_offset - f->sp < WALK_ERLANG_SCHEDULER_BYTES;
}

/*
 * Words of a process's structure, from the one before its stack: the end of the heap, that of the
 * stack, and at one of these places the bounds of the memory that they share: in OTP 24, 25, 27.
 */
#define WALK_ERLANG_WORDS_READ 16
#define WALK_ERLANG_BOUNDS_24 5
#define WALK_ERLANG_BOUNDS_25 6
#define WALK_ERLANG_BOUNDS_27 14
#define WALK_ERLANG_HEAP_MAX (1ull << 38)
#define WALK_ERLANG_ADDRESS_MIN 4096
#define WALK_ERLANG_ADDRESS_MAX (1ull << 47)

WALK_INLINE int walk_erlang_is_around(const __u64 *ends, const __u64 *bounds)
{
	return ends[0] - bounds[0] < WALK_ERLANG_HEAP_MAX &&
	       bounds[1] - ends[1] < WALK_ERLANG_HEAP_MAX;
}

/*
 * Finds the end of the stack of the process whose pointer is in the word at `at + 8`, if it is
 * where a C function has saved the registers: r12 is below it, and above it r14 and r15, the end of
 * the heap, if they are saved. All but r13 may have changed since the Erlang code made its call,
 * but not both r12 and r15. `at` 0: the process is in its register. Returns 0 if it is not a
 * process. `w`: memory for WALK_ERLANG_WORDS_READ words.
 */
WALK_INLINE __u64 walk_erlang_stack(const struct walk_frame *f, const struct unwind_rule *rule,
				    __u64 at, __u64 *w)
{
	__u64 saved[4] = {0, f->other[WALK_ERLANG_PROCESS]};
	__u64 heap;

	if (at && walk_read_words(f, saved, at, 4))
		return 0;
	/* Reads that fail take long. */
	if (saved[1] & 7 || saved[1] - WALK_ERLANG_ADDRESS_MIN >= WALK_ERLANG_ADDRESS_MAX ||
	    walk_read_words(f, w, saved[1] + ((__s64)rule->cfa_deref - 1) * 8,
			    WALK_ERLANG_WORDS_READ))
		return 0;
	if (walk_erlang_is_around(w, w + WALK_ERLANG_BOUNDS_25))
		heap = w[WALK_ERLANG_BOUNDS_25];
	else if (walk_erlang_is_around(w, w + WALK_ERLANG_BOUNDS_27))
		heap = w[WALK_ERLANG_BOUNDS_27];
	else if (walk_erlang_is_around(w, w + WALK_ERLANG_BOUNDS_24))
		heap = w[WALK_ERLANG_BOUNDS_24];
	else
		return 0;
	if (!heap || w[0] > w[1] || w[1] & 7)
		return 0;
	return saved[0] < WALK_ERLANG_CODE_INDEXES || saved[3] - heap <= w[0] - heap ? w[1] : 0;
}

/*
 * Returns whether word i of an Erlang stack may be a return address. Return addresses are aligned
 * to 4 bytes, except those of code that neither collects garbage nor makes calls.
 */
WALK_INLINE int walk_may_be_erlang_return(const struct walk_frame *f, __u64 word, __u32 i)
{
	return !(word & 3) || (!i && f->is_pc);
}

/* arm64: finds the link register of interrupted code, see rule.flags. */
WALK_INLINE void walk_link_to_caller(struct walk_frame *f, const struct unwind_rule *rule,
				     __u64 ra_at)
{
	__s64 words = rule->cfa_kind == UNWIND_CFA_DEREF ? 0 : rule->cfa_deref;

	if (ra_at) {
		ra_at += (words ? words : -2) * 8;
		walk_load(f, &f->ra, &ra_at);
	} else if (!words || !walk_reg(f, UNWIND_REG_OTHER + (__u32)words, &f->ra)) {
		f->ra = 0;
	}
}

WALK_INLINE void walk_to_caller(struct walk_frame *f, const struct unwind_rule *rule,
				const struct walk_caller *to)
{
	__u64 cfa = to->cfa, ra_at = to->ra_at;
	__u64 fp = f->fp, fp_at = f->fp_at, base = f->base, base_at = f->base_at;
	__u32 kinds = rule->kinds, is_signal = rule->flags & UNWIND_SIGNAL_FRAME;

	walk_restore(f, rule, UNWIND_FP_KIND(kinds), rule->fp_offset, cfa, &fp, &fp_at);
	walk_restore(f, rule, UNWIND_BASE_KIND(kinds), rule->base_offset, cfa, &base, &base_at);
	if (is_signal && walk_is_arm64(f))
		walk_link_to_caller(f, rule, ra_at || rule->cfa_deref >= 0 ? ra_at : cfa);
	/* Mask unconditionally: rules report a signed address, but code without CFI cannot. */
	f->pc = to->pc & walk_pc_mask(f);
	f->sp = cfa;
	f->fp = fp;
	f->fp_at = fp_at;
	f->base = base;
	f->base_at = base_at;
	/* glibc's _dl_runtime_resolve ignores what the PLT pushed: its RA is above its CFA. */
	f->has_sp = !walk_is_arm64(f) || UNWIND_RA_KIND(kinds) != UNWIND_AT_CFA ||
		    rule->ra_offset < 0;
	f->is_pc = is_signal;
	f->by_fp = 0;
	f->has_others <<= !!is_signal;
}

/*
 * Reads the pair at the frame pointer: the caller's fp and the return address. False: implausible.
 */
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

/* Goes to a caller found without CFI; its sp is at or above `sp`. */
WALK_INLINE void walk_to_return(struct walk_frame *f, __u64 pc, __u64 sp)
{
	f->pc = pc;
	f->sp = sp;
	f->has_sp = !walk_is_arm64(f);
	f->has_others = f->is_pc = f->by_fp = 0;
}

/*
 * Goes to a caller found by a scan: the word `pc` at the address `at`. x86-64: functions with a
 * frame pointer save it first, so it lies below the return address. If f has no plausible one, that
 * word is the caller's.
 */
WALK_INLINE void walk_to_guess(struct walk_frame *f, __u64 pc, __u64 at)
{
	__u64 saved, size = walk_word(f);

	if (!walk_is_arm64(f) && at > f->sp && (f->fp <= at || f->fp - at > WALK_FRAME_SIZE_MAX) &&
	    !walk_read_word(f, &saved, at - size) && saved > at &&
	    saved - at <= WALK_FRAME_SIZE_MAX && !(saved & (size - 1))) {
		f->fp = saved;
		f->fp_at = 0;
	}
	walk_to_return(f, pc, at + size);
	f->by_scan = 1;
}

WALK_INLINE void walk_to_frame_pointer(struct walk_frame *f, const __u64 pair[2])
{
	walk_to_return(f, pair[1], f->fp + 2 * walk_word(f));
	f->fp = pair[0];
	f->by_fp = 1;
}

/*
 * arm64: finds the return address of interrupted code without CFI in the link register, which holds
 * it until the code makes a call; after that, the register points into the same code. Also returns
 * false if the code has saved that address in a frame: the frame pointer is then more reliable.
 */
WALK_INLINE int walk_link_register(struct walk_frame *f, __u64 *pc)
{
	__u64 pair[2];

	if (!f->is_pc)
		return 0;
	*pc = f->ra & walk_pc_mask(f);
	return !walk_frame_pointer(f, pair) || pair[1] != *pc;
}

/*
 * Returns whether a chain of frame pointers ends here. The outermost fp is 0, by the ABIs and in
 * Go. `pending`: flags of mappings that this stack waits for.
 */
WALK_INLINE int walk_is_chain_end(const struct walk_frame *f, const struct unwind_mapping *m,
				  __u32 pending)
{
	return f->by_fp && !f->fp && !(m->flags & pending);
}

/* Kinds of calls; 0: none. */
enum walk_call {
	WALK_CALL_INDIRECT = 1,
	WALK_CALL_DIRECT, /* the target is the last four bytes */
};

/* Returns the kind of call that the bytes just before a return address end with. */
WALK_INLINE int walk_is_call(const __u8 b[WALK_CALL_SIZE], int is_arm64)
{
	if (is_arm64) {
		__u32 insn = b[4] | b[5] << 8 | b[6] << 16 | (__u32)b[7] << 24;

		if ((insn & 0xfc000000) == 0x94000000)
			return WALK_CALL_DIRECT;
		return (insn & 0xfffffc1f) == 0xd63f0000 ? WALK_CALL_INDIRECT : 0;
	}
	if (b[3] == 0xe8)
		return WALK_CALL_DIRECT;
	/*
	 * ff /2: via a register, or memory with a displacement of no, one or four bytes, or with an
	 * index
	 */
	return (b[6] == 0xff && (b[7] & 0x38) == 0x10) || (b[5] == 0xff && (b[6] & 0x38) == 0x10) ||
	       (b[4] == 0xff && (b[5] & 0x38) == 0x10) || (b[2] == 0xff && (b[3] & 0x38) == 0x10) ||
	       (b[1] == 0xff && (b[2] & 0x38) == 0x10);
}

/* Returns the target of a direct call or jump that ends at `end` with the bytes of `word`. */
WALK_INLINE __u64 walk_target(__u32 word, __u64 end, int is_arm64)
{
	return is_arm64 ? end - 4 + (__s64)((__s32)(word << 6) >> 4) : end + (__s64)(__s32)word;
}

/*
 * Judges a word of the stack, at the address `at`, that follows a direct call. A stale one is the
 * return address of a function unrelated to the frame's. `own` is the rule of the frame's code,
 * `rule` that of the called function, which begins at `target` in the mapping `m`. False: only a
 * jump from there could have led to the frame.
 */
WALK_INLINE int walk_may_be_callee(const struct walk_frame *f, const struct unwind_rule *own,
				   const struct unwind_mapping *m, const struct unwind_rule *rule,
				   __u64 target, __u64 at)
{
	/* Without a rule, the bounds of functions are unknown. */
	if (rule->cfa_kind == UNWIND_CFA_NONE)
		return !(m->flags & UNWIND_HAS_TABLE) || (f->pc >= m->start && f->pc < m->end);
	if (own->cfa_kind != UNWIND_CFA_NONE && f->pc - target < WALK_FUNCTION_SIZE)
		return 1;
	/* Interpreters in assembler jump between pieces of code that share a frame. */
	return rule->cfa_kind == UNWIND_CFA_REG && rule->cfa_reg == UNWIND_REG_SP && f->has_sp &&
	       UNWIND_RA_KIND(rule->kinds) == UNWIND_AT_CFA &&
	       f->sp + (__s64)rule->cfa_offset + (__s64)rule->ra_offset * walk_word(f) == at;
}

/*
 * Returns whether an instruction at `addr` jumps to an unknown address, or close before `pc`.
 * `word` has the byte before it and its first seven bytes, in memory order.
 */
WALK_INLINE int walk_is_jump(__u64 word, __u64 addr, __u64 pc, int is_arm64)
{
	__u32 insn = (__u32)(word >> 8);

	if (is_arm64)
		return !(addr & 3) && ((insn & 0xfffffc1f) == 0xd61f0000 ||
				       ((insn & 0xfc000000) == 0x14000000 &&
					pc - walk_target(insn, addr + 4, 1) < WALK_FUNCTION_SIZE));
	/* ff /4; after another ff, it is the end of a negative number. */
	if ((insn & 0x38ff) == 0x20ff)
		return (word & 0xff) != 0xff;
	return (insn & 0xff) == 0xe9 &&
	       pc - walk_target((__u32)(word >> 16), addr + 5, 0) < WALK_FUNCTION_SIZE;
}

/* Effects of the first instructions of a called function. */
enum walk_callee {
	WALK_JUMPS_ON = 1, /* perhaps to the frame's code */
	WALK_SETS_FP = 2,
};

/* Examines one instruction, given as to walk_is_jump(). Returns flags of enum walk_callee. */
WALK_INLINE __u32 walk_callee_effects(__u64 word, __u64 addr, __u64 pc, int is_arm64)
{
	__u32 insn = (__u32)(word >> 8);

	if (walk_is_jump(word, addr, pc, is_arm64))
		return WALK_JUMPS_ON;
	/* mov %rsp,%rbp in both forms; lea n(%rsp),%rbp */
	return !is_arm64 && ((insn & 0xffffff) == 0xe58948 || (insn & 0xffffff) == 0xec8b48 ||
			     insn == 0x246c8d48 || insn == 0x24ac8d48)
		       ? WALK_SETS_FP
		       : 0;
}

/*
 * x86-64: returns whether the frame, interrupted in code without a rule, is of a function that
 * begins at `start` with the bytes of `word` and has not changed sp. Compilers omit the frame
 * pointer in functions without calls.
 */
WALK_INLINE int walk_is_leaf(const struct walk_frame *f, __u64 start, __u64 word)
{
	__u64 distance = f->pc - start;

	if (distance <= WALK_ENDBR_SIZE)
		return 1;
	if ((__u32)word == WALK_ENDBR)
		word >>= 8 * WALK_ENDBR_SIZE;
	return distance < WALK_LEAF_SIZE && (word & 0xf8) != 0x50; /* push */
}

/* Ways in which a function returns. */
enum walk_return {
	WALK_RETURN_UNKNOWN,
	WALK_RETURN_BY_FP, /* it restores the frame pointer */
	WALK_RETURN_BY_SP, /* its frame has a known size */
	WALK_RETURN_STEPPED, /* result of a step: found the caller */
};

/* The instructions from a frame's pc to its function's return. Zeroed: none were examined. */
struct walk_way_back {
	__u32 next; /* offset of the instruction after those that `bytes` counts */
	union {
		struct {
			__u16 bytes; /* of the stack, freed by the instructions before `next` */
			/* 1 + from sp to the word that fp was loaded from last; 0: it was not */
			__u8 fp_at;
			__u8 kind; /* enum walk_return */
		};
		__u32 result;
	};
};

/* Adds the bytes of the stack that an instruction frees. Returns its size; 0: it frees none. */
WALK_INLINE __u32 walk_freed(__u64 word, __u16 *bytes)
{
	__u32 has_prefix = (word & 0xff) == 0x41;

	/* add $n,%rsp, in both forms, comes first */
	if ((word & 0x80ffffff) == 0xc48348) {
		*bytes = word >> 24 & 0x7f;
		return 4;
	}
	if ((word & 0xffff0000ffffff) == 0xc48148) {
		*bytes = word >> 24;
		return 7;
	}
	if ((word >> 8 * has_prefix & 0xf8) == 0x58) { /* pop */
		*bytes += 8;
		return 1 + has_prefix;
	}
	return 0;
}

/*
 * Returns whether bytes after a return instruction are of the next function or lie between the
 * two: padding, push or sub $n,%rsp.
 */
WALK_INLINE int walk_ends_function(__u32 word)
{
	__u8 op = word;

	return !op || op == 0xcc || op == 0x90 || op == 0x66 || (op & 0xf8) == 0x50 ||
	       (word & 0xffffff) == 0xec8348;
}

/*
 * x86-64: examines the bytes of code at offset i from the frame's pc, one after another. Returns
 * true at the return instruction, which is found by those that compilers put before it.
 */
WALK_INLINE int walk_examine_code(struct walk_way_back *w, __u64 word, __u32 i)
{
	__u16 bytes = i == w->next ? w->bytes : 0;
	__u8 op = word;
	__u32 size;

	if (i < w->next)
		return 0;
	/* leave or pop %rbp, then ret in both forms; mov %rbp,%rsp in both forms */
	if (((op == 0xc9 || op == 0x5d) && (word >> 8 & 0xfe) == 0xc2) ||
	    (word & 0xffffff) == 0xec8948 || (word & 0xffffff) == 0xe58b48)
		w->kind = WALK_RETURN_BY_FP;
	if (op == 0xc3 && (bytes || !i))
		w->kind = WALK_RETURN_BY_SP;
	if (w->kind || (op == 0xc3 && walk_ends_function(word >> 8)))
		return 1;
	size = walk_freed(word, &bytes);
	w->bytes = size ? bytes : 0;
	w->next = i + size;
	/* mov n(%rsp),%rbp in both forms */
	if ((__u32)word == 0x242c8b48)
		w->fp_at = 1;
	if ((__u32)word == 0x246c8b48)
		w->fp_at = (word >> 32 & 0x7f) + 1;
	return 0;
}

/* Goes to the caller to which the function returns: the word `pc` at the address `at`. */
WALK_INLINE void walk_leave(struct walk_frame *f, const struct walk_way_back *w, __u64 pc, __u64 at)
{
	if (w->fp_at) {
		f->fp_at = f->sp + w->fp_at - 1;
		f->fp = 0;
	}
	walk_to_return(f, pc, at + 8);
}

/*
 * x86-64: returns the offset of the address in the jump of a linker's stub that begins with these
 * bytes; 0: not a stub.
 */
WALK_INLINE __u32 walk_stub_slot(__u64 word)
{
	__u32 at = 2;

	if ((__u32)word == WALK_ENDBR) {
		word >>= 8 * WALK_ENDBR_SIZE;
		at += WALK_ENDBR_SIZE;
	}
	/* bnd */
	if ((word & 0xff) == 0xf2) {
		word >>= 8;
		at++;
	}
	return (word & 0xffff) == 0x25ff ? at : 0;
}
