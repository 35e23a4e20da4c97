/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Steps out of code without a rule, by its instructions and those that may have called it. */
#pragma once

#include "bpf/find_rule.bpf.h"
#include "bpf/runtime.bpf.h"
#include "bpf/saved_words.h"
#include "bpf/stack_scratch.bpf.h"

/*
 * Sets s->callee to the function that the direct call before a return address enters, perhaps
 * through a stub.
 */
__noinline int unwind_find_callee(struct stack_scratch *s, __u64 end)
{
	__u64 code, at = 0;
	__u32 offset;

	if (!s || bpf_probe_read_user(&offset, 4, (const void *)(end - 4)))
		return 0;
	s->callee = walk_target(offset, end, IS_ARM64);
	if (!IS_ARM64 && !bpf_probe_read_user(&code, 8, (const void *)s->callee))
		at = walk_stub_slot(code);
	if (!at)
		return 0;
	at += s->callee;
	if (!bpf_probe_read_user(&offset, 4, (const void *)at))
		bpf_probe_read_user(&s->callee, 8, (const void *)walk_target(offset, at + 4, 0));
	return 0;
}

/* Examines word i of the stack. Returns an enum walk_call; -1: unreadable. */
__noinline int unwind_try_word(struct stack_scratch *s, __u32 i)
{
	int call;

	if (!s)
		return 0;
	s->caller.ra_at = s->frame.sp + i * 8ull;
	if (bpf_probe_read_user(&s->caller.pc, 8, (const void *)s->caller.ra_at))
		return -1;
	s->caller.pc &= walk_pc_mask(&s->frame);
	if (!unwind_find_mapping(s, s->caller.pc - 1))
		return 0;
	call = follows_call(s->caller.pc);
	if (call == WALK_CALL_DIRECT)
		unwind_find_callee(s, s->caller.pc);
	return call;
}

static long examine_callee(__u32 i, void *ctx)
{
	struct loop *loop = ctx;
	struct stack_scratch *s = loop->s;
	__u32 found;

	if (i >= WALK_CALLEE_SIZE)
		return 1;
	found = walk_callee_effects(*(const __u64 *)(s->code + i), s->callee + i, s->frame.pc,
				    IS_ARM64);
	loop->found |= found;
	found &= WALK_JUMPS_ON;
	barrier_var(found); /* as in LOOP_CALLBACK */
	return found ? 1 : 0;
}

/* Returns whether a call of s->callee can have led to the frame without a jump. */
__noinline int unwind_judge_callee(struct stack_scratch *s)
{
	const struct unwind_rule *rule;
	__u32 number;

	if (!s)
		return 0;
	number = unwind_search_rule(s, s->callee);
	rule = bpf_map_lookup_elem(&unwind_rules, &number);
	return rule && walk_may_be_callee(&s->frame, &s->rule, &s->mapping, rule, s->callee,
					  s->caller.ra_at);
}

/*
 * Returns the effects of the code of s->callee, flags of enum walk_callee. Unreadable code may jump
 * elsewhere.
 */
__noinline int unwind_callee_effects(struct stack_scratch *s)
{
	struct loop loop = {.s = s};

	if (!s)
		return 0;
	if (bpf_probe_read_user(s->code + 1, WALK_CALLEE_SIZE, (const void *)s->callee))
		return WALK_JUMPS_ON;
	bpf_loop(WALK_CALLEE_SIZE, examine_callee, &loop, 0);
	return loop.found;
}

__noinline int unwind_guess(struct stack_scratch *s)
{
	if (!s)
		return 0;
	s->stack_flags |= STACK_GUESSED;
	walk_to_guess(&s->frame, s->caller.pc, s->caller.ra_at);
	return 0;
}

static long scan_word(__u32 i, void *ctx)
{
	struct loop *loop = ctx;
	struct stack_scratch *s = loop->s;
	int call = unwind_try_word(s, i);

	if (call == WALK_CALL_DIRECT && !unwind_judge_callee(s))
		call = unwind_callee_effects(s) & WALK_JUMPS_ON;
	if (!call)
		return 0;
	loop->found = call > 0;
	return 1;
}

/*
 * Steps to the nearest word on the stack that looks like a return address: a guess, marked as one.
 */
static __always_inline bool unwind_by_scan(struct stack_scratch *s)
{
	struct loop loop = {.s = s};

	bpf_loop(WALK_SCAN_WORDS, scan_word, &loop, 0);
	if (loop.found)
		unwind_guess(s);
	return loop.found;
}

/*
 * x86-64: returns whether the frame pointer belongs to a caller of interrupted code without a rule:
 * the call at its return address enters another function, which sets it. Chains skip this test,
 * because a builtin of V8 may enter the called function by a conditional jump.
 */
__noinline int unwind_is_callers_pair(struct stack_scratch *s)
{
	__u64 word;

	if (!s || !(config.unwind & UNWIND_BY_SCAN) || !s->frame.is_pc || walks_chains(s))
		return 0;
	walk_load(&s->frame, &s->frame.fp, &s->frame.fp_at);
	word = (s->frame.fp - s->frame.sp) / 8 + 1;
	return word < WALK_SCAN_WORDS && unwind_try_word(s, word) == WALK_CALL_DIRECT &&
	       !unwind_judge_callee(s) && unwind_callee_effects(s) == WALK_SETS_FP;
}

/*
 * Steps out of an interrupted function without a rule that has no frame yet, or needs none: a
 * guess, except at its first byte.
 */
__noinline int unwind_by_leaf(struct stack_scratch *s)
{
	__u64 word;

	if (!s || !(config.unwind & UNWIND_BY_SCAN) || !s->frame.is_pc ||
	    unwind_try_word(s, 0) != WALK_CALL_DIRECT ||
	    bpf_probe_read_user(&word, 8, (const void *)s->callee) ||
	    !walk_is_leaf(&s->frame, s->callee, word))
		return 0;
	if (s->callee == s->frame.pc)
		walk_to_return(&s->frame, s->caller.pc, s->caller.ra_at + 8);
	else
		unwind_guess(s);
	return 1;
}

#if !defined(RUNTIME_STACK_HEADER) && !IS_ARM64
/* Memory for the frame's next instructions: the stack's record takes it when it is packed. */
#define CODE_AT (HEADER_WORDS + DEPTH_MAX)
_Static_assert((DEPTH_MAX + 1) / 2 * 8 >= WALK_RETURN_SIZE + 8, "the code has room");

/* Makes a key of the rule cache of a pc whose way back is cached. */
#define WAY_BACK_KEY (1ull << 63)

static long examine_code(__u32 i, void *ctx)
{
	struct stack_scratch *s = ((struct loop *)ctx)->s;
	__u32 found;

	if (i >= WALK_RETURN_SIZE)
		return 1;
	found = walk_examine_code(&s->way_back,
				  *(const __u64 *)((const __u8 *)(s->words + CODE_AT) + i), i);
	barrier_var(found); /* as in LOOP_CALLBACK */
	return found ? 1 : 0;
}

/* Sets s->way_back to the way in which the function of the frame's code returns. */
__noinline int unwind_find_way_back(struct stack_scratch *s)
{
	struct loop loop = {.s = s};
	struct walk_way_back *way;
	struct rule_cache *cached;
	__u64 key;

	if (!s)
		return 0;
	way = &s->way_back;
	cached = &s->rule_cache[cache_slot(s->frame.pc)];
	key = s->frame.pc | WAY_BACK_KEY;
	if (cached->addr == key && cached->serial == s->space.serial) {
		way->result = cached->number;
		return 0;
	}
	__builtin_memset(way, 0, sizeof(*way));
	/* If the next page is unreadable, up to there: the helper clears the rest. */
	if (bpf_probe_read_user(s->words + CODE_AT, WALK_RETURN_SIZE, (const void *)s->frame.pc))
		bpf_probe_read_user(s->words + CODE_AT, -s->frame.pc & (WALK_RETURN_SIZE - 1),
				    (const void *)s->frame.pc);
	bpf_loop(WALK_RETURN_SIZE, examine_code, &loop, 0);
	cached->addr = key;
	cached->serial = s->space.serial;
	cached->number = way->result;
	return 0;
}

/*
 * Steps out of code without a rule by its return instruction. Returns an enum walk_return.
 */
__noinline int unwind_by_return(struct stack_scratch *s)
{
	__u64 word, at;

	if (!s || walks_chains(s))
		return WALK_RETURN_UNKNOWN;
	unwind_find_way_back(s);
	if (s->way_back.kind != WALK_RETURN_BY_SP)
		return WALK_RETURN_UNKNOWN;
	at = s->frame.sp + s->way_back.bytes;
	if (bpf_probe_read_user(&word, 8, (const void *)at) || !unwind_find_mapping(s, word - 1) ||
	    !follows_call(word))
		return WALK_RETURN_BY_SP;
	walk_leave(&s->frame, &s->way_back, word, at);
	return WALK_RETURN_STEPPED;
}
#else
/* Runtimes' programs know the frames of generated code. */
static __always_inline int unwind_by_return(struct stack_scratch *s)
{
	return WALK_RETURN_UNKNOWN;
}
#endif

#if !defined(RUNTIME_STACK_HEADER) && !IS_ARM64
/*
 * A shim saves the callee-saved registers, then calls code that preserves none of them and has
 * neither CFI nor a frame pointer: CPython's JIT. The shim's return address is near, and followed
 * by its epilogue.
 */
#define SHIM_CALLER_MAX 8192 /* bytes of its caller's frame below the saved fp */

__noinline int is_native_return(struct stack_scratch *s, __u64 addr)
{
	return s && unwind_find_mapping(s, addr - 1) && s->mapping.flags & UNWIND_HAS_TABLE &&
	       follows_call(addr);
}

/*
 * Returns whether fp can be the frame pointer of a function that made a call with `sp` as stack
 * pointer.
 */
__noinline int unwind_may_be_fp(struct stack_scratch *s, __u64 fp, __u64 sp)
{
	__u64 pc;

	return s && fp >= sp && fp - sp <= SHIM_CALLER_MAX && !(fp & 7) &&
	       !bpf_probe_read_user(&pc, 8, (const void *)(fp + 8)) && is_native_return(s, pc);
}

/*
 * Finds the caller's fp, which the shim passes on unchanged. The called code pushes it first, if at
 * all.
 */
__noinline int unwind_find_shim_fp(struct stack_scratch *s)
{
	__u64 fp;

	if (!s)
		return 0;
	walk_load(&s->frame, &s->frame.fp, &s->frame.fp_at);
	if (!unwind_may_be_fp(s, s->frame.fp, s->frame.sp) &&
	    !bpf_probe_read_user(&fp, 8, (const void *)(s->caller.ra_at - 8)) &&
	    unwind_may_be_fp(s, fp, s->frame.sp))
		s->frame.fp = fp;
	return 0;
}

enum shim {
	SHIM_NONE,
	SHIM_SAVES_FP,
	SHIM_LEAVES_FP,
};

/* Steps to the caller of the shim whose return address is at `at`. Returns an enum shim. */
__noinline int unwind_try_shim(struct stack_scratch *s, __u64 at)
{
	struct saved_words saved;
	__u64 code[3], ra, end;

	if (!s || bpf_probe_read_user(&ra, 8, (const void *)at) ||
	    !unwind_find_mapping(s, ra - 1) || s->mapping.flags & UNWIND_HAS_TABLE ||
	    bpf_probe_read_user(code, sizeof(code), (const void *)ra))
		return SHIM_NONE;
	saved = read_pops(code);
	if (!saved.count || !follows_call(ra))
		return SHIM_NONE;
	s->caller.ra_at = at;
	at += 8;
	end = at + 8 * (__u64)saved.count;
	if (bpf_probe_read_user(&ra, 8, (const void *)end) || !is_native_return(s, ra))
		return SHIM_NONE;
	walk_to_return(&s->frame, ra, end + 8);
	s->frame.base_at = at + 8 * (__u64)saved.base_at;
	if (saved.fp_at == saved.count)
		return SHIM_LEAVES_FP;
	s->frame.fp_at = at + 8 * (__u64)saved.fp_at;
	return SHIM_SAVES_FP;
}

static long scan_for_shim(__u32 i, void *ctx)
{
	struct loop *loop = ctx;
	__u32 shim = unwind_try_shim(loop->s, loop->s->frame.sp + i * 8ull);

	loop->found = shim;
	barrier_var(shim); /* as in LOOP_CALLBACK */
	return shim ? 1 : 0;
}

/* Steps out of code that a shim has called, to the shim's caller. */
static __always_inline bool unwind_by_shim(struct stack_scratch *s)
{
	struct loop loop = {.s = s};
	__u32 number = s->space.runtimes[0].layout;
	const struct runtime_layout *layout;

	if (!s->runtime)
		return false;
	layout = bpf_map_lookup_elem(&runtime_layouts, &number);
	if (!layout || !layout->shim_words)
		return false;
	bpf_loop(layout->shim_words, scan_for_shim, &loop, 0);
	if (loop.found == SHIM_LEAVES_FP)
		unwind_find_shim_fp(s);
	return loop.found != SHIM_NONE;
}
#else
/* Runtimes' programs continue walks that others began; CPython's walks never stop for one. */
static __always_inline bool unwind_by_shim(struct stack_scratch *s)
{
	return false;
}
#endif
