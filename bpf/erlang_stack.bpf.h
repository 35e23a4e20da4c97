/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Steps out of Erlang's compiled code: see UNWIND_CFA_ERLANG. Part of the walker in
 * capture_stack.bpf.h. Runtimes' programs do not contain it.
 */
#pragma once

#include "bpf/find_rule.bpf.h"

#if !defined(RUNTIME_STACK_HEADER) && !IS_ARM64
/*
 * Looks for the Erlang process's stack by word i of those that C functions may have saved. After
 * the last one, tries the register of the process. Returns 1 to end the search.
 */
__noinline int unwind_try_saved(struct stack_scratch *s, __u32 i)
{
	__u64 at;

	if (!s)
		return 1;
	at = s->frame.sp - (i + 3) * 8ull;
	if (at < s->top_sp || i == WALK_ERLANG_SAVED_WORDS)
		at = 0;
	s->caller.cfa = walk_erlang_stack(&s->frame, &s->rule, at, s->process);
	return s->caller.cfa || !at;
}

static long scan_saved(__u32 i, void *ctx)
{
	return unwind_try_saved(((struct loop *)ctx)->s, i) ? 1 : 0;
}

/* Sets s->caller.cfa to the end of the Erlang process's stack. 0: unknown. */
__noinline int unwind_find_erlang_stack(struct stack_scratch *s)
{
	struct loop loop = {.s = s};

	if (!s)
		return 0;
	s->caller.cfa = s->frame.sp + (__s64)s->rule.ra_offset * 8;
	if (!walk_is_on_scheduler(&s->frame, &s->rule))
		return 0;
	s->caller.cfa = s->frame.fp;
	if (!s->rule.cfa_deref)
		return 0;
	/* After the words, the process's register. */
	bpf_loop(WALK_ERLANG_SAVED_WORDS + 1, scan_saved, &loop, 0);
	return 0;
}

/* Examines word i of an Erlang stack. Returns 1: a return address; -1: unreadable. */
__noinline int unwind_try_term(struct stack_scratch *s, __u32 i)
{
	__u64 at;

	if (!s)
		return -1;
	at = s->caller.cfa + i * 8ull;
	if (bpf_probe_read_user(&s->caller.pc, 8, (const void *)at))
		return -1;
	if (!walk_may_be_erlang_return(&s->frame, s->caller.pc, i) ||
	    !unwind_find_mapping(s, s->caller.pc - 1) ||
	    (s->caller.pc & 3 && !follows_call(s->caller.pc)))
		return 0;
	s->caller.ra_at = at;
	return 1;
}

static long scan_term(__u32 i, void *ctx)
{
	struct loop *loop = ctx;
	int found = unwind_try_term(loop->s, i);

	loop->found = found > 0;
	barrier_var(found); /* as in LOOP_CALLBACK */
	return found ? 1 : 0;
}

/* Leaves Erlang code for the caller found by a scan. */
__noinline int unwind_leave_erlang(struct stack_scratch *s, __u32 is_found)
{
	if (!s || !is_found)
		return WALK_BAD_READ;
	walk_to_return(&s->frame, s->caller.pc, s->caller.ra_at + 8);
	return unwind_find_rule(s, 1) && s->rule.cfa_kind == UNWIND_CFA_END ? WALK_END
									    : WALK_STEPPED;
}

/* Steps to the caller of Erlang code. */
static __always_inline int unwind_by_terms(struct stack_scratch *s)
{
	struct loop loop = {.s = s};

	unwind_find_erlang_stack(s);
	bpf_loop(WALK_ERLANG_WORDS, scan_term, &loop, 0);
	return unwind_leave_erlang(s, loop.found);
}
#else
static __always_inline int unwind_by_terms(struct stack_scratch *s)
{
	return WALK_BAD_READ;
}
#endif
