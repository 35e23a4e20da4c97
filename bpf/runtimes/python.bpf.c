// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Adds Python's frames to the stack of a sample. In order: find the thread's state, walk its chain
 * of frames, put them among the native ones, send.
 *
 * Each call of the interpreter's loop leaves something in its C frame: until 3.10 a cframe for each
 * Python frame, in 3.11 one for the group of frames that the call runs, from 3.12 on a frame
 * without code at the outer end of the group. Its address tells the C frame, whatever the
 * compiler has made of the interpreter's code.
 */
#include "bpf/runtimes/merge.bpf.h"
#include "bpf/runtimes/pending.bpf.h"
#include "bpf/runtimes/python_frames.bpf.h"

struct count_loop {
	struct stack_scratch *s;
	struct runtime_scratch *notes;
	struct managed_scratch *m;
	struct python_walk *w;
};

/* Is the address in the interpreter's code? */
static __always_inline bool python_is_interpreter(const struct python_walk *w, __u64 addr)
{
	__u64 vaddr = addr - w->bias;

	return (vaddr >= w->layout.eval_start[0] && vaddr < w->layout.eval_end[0]) ||
	       (vaddr >= w->layout.eval_start[1] && vaddr < w->layout.eval_end[1]);
}

/* Gives the outermost frame that has no place yet the native frame at `sp`. */
static __always_inline void place_outermost(struct managed_scratch *m, __u64 sp)
{
	__u32 last = m->group - 1;

	barrier_var(last); /* as in sum_of() */
	if (last >= MANAGED_MAX)
		return;
	m->frames[last].place = sp & ~1ull;
	m->group = last;
}

/* Looks at native frame `i`, counted from the root. */
__noinline int python_count_frame(struct stack_scratch *s, struct runtime_scratch *notes,
				  struct managed_scratch *m, struct python_walk *w, __u32 i)
{
	__u32 native, at;

	if (!s || !notes || !m || !w)
		return 0;
	native = s->user_depth - 1 - i;
	at = s->kernel_depth + native;
	barrier_var(native);
	if (native >= USER_DEPTH_MAX || at >= DEPTH_MAX)
		return 0;
	if (python_is_interpreter(w, s->words[HEADER_WORDS + at] - 1)) {
		place_outermost(m, notes->sps[native]);
		w->calls++;
	}
	return 1;
}

static long count_frame(__u32 i, void *ctx)
{
	struct count_loop *loop = ctx;
	int more = python_count_frame(loop->s, loop->notes, loop->m, loop->w, i);

	barrier_var(more);
	return more ? 0 : 1;
}

/*
 * Finds the places of frames that tell none: each has one C frame. Counted from the root, because
 * the innermost C frame may have no Python frame yet.
 */
static __always_inline void place_by_count(struct stack_scratch *s, struct runtime_scratch *notes,
					   struct managed_scratch *m, struct python_walk *w)
{
	struct count_loop loop = {.s = s, .notes = notes, .m = m, .w = w};

	if (w->layout.place != PYTHON_PLACE_COUNT || !(s->stack_flags & STACK_WHOLE))
		return;
	w->calls = 0;
	bpf_loop(s->user_depth, count_frame, &loop, 0);
	if (!(s->sample_flags & SAMPLE_LEAF_KERNEL) && python_is_interpreter(w, s->leaf)) {
		place_outermost(m, s->top_sp);
		w->calls++;
	}
	/* Only the innermost call may have no frame, for a moment. Else the frames are others'. */
	if (w->torn || w->calls < m->count || w->calls > m->count + 1) {
		m->count = 0;
		w->torn = 1;
	}
}

/*
 * May native frames further out be those of another chain that has been switched away? The chains
 * of several interpreters lie on the stack one inside the other.
 */
static __always_inline bool may_be_switched(struct python_walk *w)
{
	__u32 slot = w->slot;
	struct python_thread *thread = bpf_map_lookup_elem(&python_threads, &slot);

	return w->layout.place != PYTHON_PLACE_COUNT && !w->torn && thread &&
	       !thread->has_interpreters;
}

static __always_inline void place_frames(struct stack_scratch *s, struct runtime_scratch *notes,
					 struct managed_scratch *m, struct python_walk *w,
					 struct runtime_counters *count)
{
	if (s->stack_flags & STACK_UNKNOWN) {
		/* User space does not place frames by counting. */
		s->managed_count = w->layout.place == PYTHON_PLACE_COUNT ? 0 : m->count;
		count->copied += m->count > 0;
		return;
	}
	place_by_count(s, notes, m, w);
	if (w->torn == 1)
		count->torn++;
	else if (w->torn)
		count->cut++;
	m->process = may_be_switched(w) ? w->process : 0;
	if (m->count && merge_frames(s, notes, m))
		count->unplaced++;
	else if (m->count && !w->torn)
		count->whole++;
	count->switched += m->count && m->is_foreign;
}

/* Returns where the innermost C frame ends on the stack; 0: unknown. */
static __always_inline __u64 leaf_end(const struct stack_scratch *s,
				      const struct runtime_scratch *notes)
{
	__u32 last = s->sample_flags & SAMPLE_LEAF_KERNEL ? 1 : 0;

	return s->user_depth > last ? notes->sps[last] & ~1ull : 0;
}

static __always_inline bool python_begin(struct stack_scratch *s,
					 const struct runtime_scratch *notes, struct python_walk *w,
					 struct task_struct *task)
{
	__u32 number = s->space.layout;
	struct tracked_process *process = find_current(task);
	struct runtime_layout *layout = bpf_map_lookup_elem(&runtime_layouts, &number);

	if (!layout || layout->kind != RUNTIME_PYTHON || !process)
		return false;
	w->layout = layout->python;
	w->layout_number = number;
	w->bias = s->space.runtime_bias;
	w->process =
		mix_bits(process->start + mix_bits(task->tgid + ((__u64)s->space.execs << 32)));
	w->thread_pointer = current_thread_pointer();
	w->tid = task->pid;
	w->leaf_end = leaf_end(s, notes);
	w->execs = s->space.execs;
	w->file = w->file_hash = 0;
	return true;
}

static __always_inline void finish_sample(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct runtime_counters *count = own_runtime_counters();
	struct runtime_scratch *notes = own_runtime_scratch();
	struct managed_scratch *m = own_managed_scratch();
	struct python_walk *w = own_python_walk();
	struct stack_scratch *s;
	__u32 zero = 0;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!s || !notes || !m || !w || !count)
		return;
	count->samples++;
	if (python_begin(s, notes, w, task)) {
		m->like = notes->pending.sample.rec;
		python_capture(m, w, count);
		place_frames(s, notes, m, w, count);
	}
	send_pending(s, notes);
}

SEC("perf_event")
int on_python(void *ctx)
{
	finish_sample();
	return 0;
}

SEC("tracepoint")
int on_python_tracepoint(void *ctx)
{
	finish_sample();
	return 0;
}
