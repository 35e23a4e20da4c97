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
#include "bpf/runtimes/python_count.bpf.h"

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
