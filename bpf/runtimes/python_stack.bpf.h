/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Adds Python's frames to the stack of a sample. Finds the thread's state, walks its chain of
 * frames, inserts them among the native ones, and sends the stack.
 *
 * Each call of the interpreter's loop leaves a structure in its C frame: until 3.10 a cframe for
 * each Python frame, in 3.11 one for the group of frames that the call runs, from 3.12 on a frame
 * without code at the outer end of the group. Its address identifies the C frame regardless of how
 * the interpreter was compiled.
 */
#pragma once

#include "bpf/runtimes/merge.bpf.h"
#include "bpf/runtimes/python_frames.bpf.h"
#ifdef STACKS_OF_samples
#include "bpf/runtimes/python_tasks.bpf.h"
#endif

/*
 * Positions for frames without an address, in 3.8 and 3.9: each has one C frame of the interpreter,
 * counted from the leaf. C frames further out than the chain's root belong to the parent of a
 * greenlet, which has its own chain.
 */

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

/*
 * Returns whether native frames further out may belong to another chain that has been switched out.
 * The chains of several interpreters are nested on the stack.
 */
static __always_inline bool may_be_switched(struct python_walk *w)
{
	const struct python_thread *thread = python_known_thread(w);

	return w->layout.place != PYTHON_PLACE_COUNT && !w->torn && thread &&
	       !thread->has_interpreters;
}

static __always_inline void place_frames(struct stack_scratch *s, struct runtime_scratch *notes,
					 struct managed_scratch *m, struct python_walk *w,
					 struct runtime_counters *count)
{
	if (w->layout.place == PYTHON_PLACE_COUNT)
		place_by_count(s, notes, m, w);
	if (s->stack_flags & STACK_UNKNOWN) {
		s->managed_count = m->count;
		count->copied += m->count > 0;
		return;
	}
	if (w->torn == 1)
		count->torn++;
	else if (w->torn)
		count->cut++;
	m->process = may_be_switched(w) ? w->process : 0;
	if (m->count)
		merge_walked(s, notes, m, w->torn, count);
	count->switched += m->count && m->is_foreign;
}

/* Returns the end of the innermost C frame on the stack; 0: unknown. */
static __always_inline __u64 leaf_end(const struct stack_scratch *s,
				      const struct runtime_scratch *notes)
{
	__u32 last = s->sample_flags & SAMPLE_LEAF_KERNEL ? 1 : 0;

	return s->user_depth > last ? notes->sps[last] & ~1ull : 0;
}

static __always_inline bool python_begin(struct stack_scratch *s,
					 const struct runtime_scratch *notes, struct python_walk *w,
					 struct task_struct *task,
					 const struct tracked_process *process)
{
	const struct runtime_layout *layout = layout_of(s, RUNTIME_PYTHON);

	if (!layout || !process)
		return false;
	w->layout = layout->python;
	w->layout_number = s->space.runtimes[0].layout;
	w->bias = s->space.runtimes[0].bias;
	w->process = hash_process(s, task, process);
	w->thread_pointer = thread_pointer_of(task);
	w->tid = task->pid;
	w->leaf_end = leaf_end(s, notes);
	w->execs = s->space.execs;
	w->file = w->file_hash = 0;
	return true;
}

/*
 * Adds the frames of a thread to the stack in s. Returns their number. `process` is the filter's
 * entry or NULL, `like` the header of the sample.
 */
static __always_inline __u32 python_add_frames_of(struct task_struct *task,
						  const struct tracked_process *process,
						  struct stack_scratch *s,
						  struct runtime_scratch *notes,
						  const struct rec *like)
{
	struct runtime_counters *count = own_runtime_counters(RUNTIME_PYTHON);
	struct managed_scratch *m = own_managed_scratch();
	struct python_walk *w = own_python_walk();

	if (!m || !w || !count)
		return 0;
	w->torn = 0;
	if (!python_begin(s, notes, w, task, process)) {
		count->missed++;
		return 0;
	}
	count->samples++;
	m->like = *like;
	python_capture(m, w, count);
#ifdef STACKS_OF_samples
	if (config.tasks && m->count && w->layout.thread_task)
		python_label_thread(w, like);
#endif
	place_frames(s, notes, m, w, count);
	m->foreign_sp = 0;
	return m->count;
}

/* python_add_frames_of() for the current thread. */
static __always_inline __u32 python_add_frames(struct stack_scratch *s,
					       struct runtime_scratch *notes,
					       const struct rec *like)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 found = python_add_frames_of(task, find_current(task), s, notes, like);
	const struct python_walk *w = own_python_walk();

	if (w)
		note_walk(s, like, found, w->torn);
	return found;
}
