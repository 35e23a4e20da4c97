/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Positions for frames without an address, in 3.8 and 3.9: each has one C frame of the interpreter,
 * counted from the leaf. C frames further out than the chain's root belong to the parent of a
 * greenlet, which has its own chain.
 */
#pragma once

#include "bpf/runtimes/python_frames.bpf.h"

struct count_loop {
	struct stack_scratch *s;
	struct runtime_scratch *notes;
	struct managed_scratch *m;
	struct python_walk *w;
};

/* Returns whether the address is in the interpreter's code. */
static __always_inline bool python_is_interpreter(const struct python_walk *w, __u64 addr)
{
	return is_in_code(w->layout.eval_start, w->layout.eval_end, addr - w->bias);
}

/* Assigns the position `sp` to the next frame. The first w->early calls have no frame. */
static __always_inline void place_call(struct managed_scratch *m, struct python_walk *w, __u64 sp)
{
	__u32 at = w->calls - w->early;

	w->calls++;
	barrier_var(at); /* as in sum_of() */
	if (at == m->count)
		m->foreign_sp = sp & ~1ull;
	if (at < m->count && at < MANAGED_MAX)
		m->frames[at].place = sp & ~1ull;
}

/* Checks native frame `i` after the leaf. */
__noinline int python_count_frame(struct stack_scratch *s, struct runtime_scratch *notes,
				  struct managed_scratch *m, struct python_walk *w, __u32 i)
{
	if (!s || !notes || !m || !w)
		return 0;
	barrier_var(i);
	if (i >= USER_DEPTH_MAX)
		return 0;
	if (!python_is_interpreter(w, native_code(s, i)))
		return 1;
	if (!w->calls)
		w->call_depth = i + 1;
	place_call(m, w, notes->sps[i]);
	return 1;
}

LOOP_CALLBACK(count_frame, count_loop,
	      python_count_frame(loop->s, loop->notes, loop->m, loop->w, i))

/* Places the frames, the innermost of them in call `early`. */
static __always_inline void place_calls(struct stack_scratch *s, struct runtime_scratch *notes,
					struct managed_scratch *m, struct python_walk *w,
					__u32 early)
{
	struct count_loop loop = {.s = s, .notes = notes, .m = m, .w = w};

	w->calls = w->call_depth = 0;
	w->early = early;
	m->foreign_sp = 0;
	if (!(s->sample_flags & SAMPLE_LEAF_KERNEL) && python_is_interpreter(w, s->leaf))
		place_call(m, w, s->top_sp);
	bpf_loop(s->user_depth, count_frame, &loop, 0);
}

/*
 * Returns whether the innermost call may have no frame yet, or none any more: only in its own code,
 * and in the function that checks its result.
 */
static __always_inline bool python_may_be_early(const struct stack_scratch *s,
						const struct python_walk *w)
{
	return w->call_depth <= (s->sample_flags & SAMPLE_LEAF_KERNEL ? 2 : 1);
}

/*
 * Decides whether the innermost call has no frame; the outermost frame's position is then the next
 * call further out. A chain not seen before has its frames in the innermost calls, unless exactly
 * one call is left over and the thread is not known to have greenlets.
 */
static __always_inline bool python_is_early(const struct stack_scratch *s,
					    const struct managed_scratch *m,
					    const struct python_walk *w)
{
	struct python_thread *thread = python_known_thread(w);
	bool is_certain = w->calls == m->count || !python_may_be_early(s, w);
	__u64 place = outermost_place(m), known = find_root(w);

	if (!thread || known == place)
		return false;
	if (known && known == m->foreign_sp)
		return true;
	if (!is_certain)
		return w->calls == m->count + 1 && !thread->has_greenlets;
	enter_root(w, place);
	if (w->calls > m->count)
		thread->has_greenlets = 1;
	return false;
}

/* Drops all frames: they do not belong to this stack. */
static __always_inline void python_misplace(struct managed_scratch *m, struct python_walk *w)
{
	m->count = m->foreign_sp = 0;
	w->torn = 1;
}

/* The stack ends before the calls of all frames. */
static __always_inline void place_early_end(const struct stack_scratch *s,
					    struct managed_scratch *m, struct python_walk *w)
{
	__u32 calls = w->calls;

	barrier_var(calls);
	if (s->stack_flags & STACK_BROKEN && calls < MANAGED_MAX) {
		m->frames[calls].place = PLACE_BEYOND;
	} else if (s->stack_flags & STACK_TRUNCATED) {
		m->count = calls;
		w->torn = 2;
	} else {
		python_misplace(m, w);
	}
}

/* Finds the frames' positions. */
__noinline int place_by_count(struct stack_scratch *s, struct runtime_scratch *notes,
			      struct managed_scratch *m, struct python_walk *w)
{
	const struct python_thread *thread;

	if (!s || !notes || !m || !w)
		return 0;
	thread = python_known_thread(w);
	if (w->torn == 1)
		python_misplace(m, w);
	if (!m->count || !thread)
		return 0;
	place_calls(s, notes, m, w, 0);
	if (w->calls < m->count) {
		place_early_end(s, m, w);
		return 0;
	}
	if (python_is_early(s, m, w))
		place_calls(s, notes, m, w, 1);
	/* The chains of several interpreters are nested on the stack. */
	if (m->foreign_sp && thread->has_interpreters)
		python_misplace(m, w);
	return 0;
}
