/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Adds Ruby's methods and blocks to a stack. Each call of the interpreter, rb_vm_exec, runs a group
 * of control frames up to a flagged one, and leaves a tag for exceptions in its C frame. Tags of
 * other functions are recognized by the code in which they resume. There must be as many tags as
 * groups.
 */
#pragma once

#include "bpf/runtimes/merge.bpf.h"
#include "bpf/runtimes/ruby_first_seen.bpf.h"

struct ruby_loop {
	struct stack_scratch *s;
	struct runtime_scratch *notes;
	struct managed_scratch *m;
	struct ruby_walk *w;
};

static long take_tag(__u32 i, void *ctx)
{
	int more = ruby_take_tag(((struct ruby_loop *)ctx)->w);

	/* As in unwind_turn(). */
	barrier_var(more);
	return more ? 0 : 1;
}

/* Ends the group of a call. False: no room. */
static __always_inline bool ruby_end_group(struct ruby_walk *w, struct managed_scratch *m)
{
	__u32 at = w->group_count;

	barrier_var(at);
	if (at >= RUBY_CALLS_MAX)
		return false;
	w->firsts[at] = m->group;
	w->group_count = at + 1;
	m->group = m->count;
	return true;
}

/* Ends the group if the frame just read is the outermost of its call. False: no room. */
static __always_inline bool ruby_end_frame(struct ruby_walk *w, struct managed_scratch *m)
{
	if (!(w->env[RUBY_ENV_FLAGS] & RUBY_FRAME_FINISH))
		return true;
	if (!w->skips)
		return ruby_end_group(w, m);
	w->skips = 0;
	return true;
}

/* Returns the position of the frame just read; 0: not a frame; POSITION_NONE: no position. */
#define RUBY_POSITION_NONE ~0ull
static __always_inline __u64 ruby_position(struct ruby_walk *w, const struct rec *like)
{
	__u64 flags = w->env[RUBY_ENV_FLAGS];

	if ((flags & RUBY_KIND_MASK) == RUBY_KIND_C_METHOD)
		return ruby_method_position(w, like);
	if (flags & RUBY_FRAME_C)
		return RUBY_POSITION_NONE;
	return ruby_code_position(w, like);
}

/* Adds the frame at w->frame. False: there are no more, or they cannot be followed. */
__noinline int ruby_take_frame(struct ruby_walk *w, struct managed_scratch *m)
{
	__u64 position = RUBY_POSITION_NONE;
	__u32 at;

	if (!w || !m || w->frame >= w->end)
		return 0;
	w->torn = 1;
	if (!ruby_read(w->frame_words, sizeof(w->frame_words), w->frame) ||
	    !ruby_read(w->env, sizeof(w->env), w->frame_words[RUBY_FRAME_ENV] + RUBY_ENV_OFFSET))
		return 0;
	w->frame += w->layout.frame_size;
	/* The outermost frame and frames for compiled code represent no call. */
	if ((w->env[RUBY_ENV_FLAGS] & RUBY_KIND_MASK) == RUBY_KIND_DUMMY) {
		w->torn = 0;
		return w->frame < w->end;
	}
	if (!w->skips)
		position = ruby_position(w, &m->like);
	if (!position)
		return 0;
	at = m->count;
	if (at >= MANAGED_MAX) {
		w->torn = 2;
		return 0;
	}
	if (position != RUBY_POSITION_NONE) {
		m->frames[at].position = position;
		m->frames[at].place = 0;
		m->count = at + 1;
	}
	w->torn = ruby_end_frame(w, m) ? 0 : 2;
	return !w->torn;
}

static long take_control_frame(__u32 i, void *ctx)
{
	struct ruby_loop *loop = ctx;
	int more = ruby_take_frame(loop->w, loop->m);

	barrier_var(more);
	return more ? 0 : 1;
}

/* Walks the control frames, without those of an innermost call that has not begun. */
__noinline int ruby_walk_frames(struct ruby_walk *w, struct managed_scratch *m, __u32 skips)
{
	struct ruby_loop loop = {.w = w, .m = m};

	if (!w || !m)
		return 0;
	m->count = m->group = m->is_cut = 0;
	w->group_count = w->torn = 0;
	w->skips = skips;
	w->frame = w->context[RUBY_EC_FRAME];
	bpf_loop(4 * MANAGED_MAX, take_control_frame, &loop, 0);
	if (w->frame < w->end && !w->torn)
		w->torn = 2;
	/* The last group has no end. */
	m->is_cut = w->torn == 2;
	if (m->is_cut && m->group < m->count)
		ruby_end_group(w, m);
	/*
	 * C methods with which a thread or fiber began run outside of all calls: place them before
	 * the outermost one.
	 */
	if (!w->group_count && !w->torn)
		m->count = 0;
	return 1;
}

/* Assigns group `i` its position. */
__noinline int ruby_place_group(struct ruby_walk *w, struct managed_scratch *m, __u32 i)
{
	__u32 call, at;

	if (!w || !m)
		return 0;
	call = i + w->first_call;
	if (i >= w->group_count)
		return 0;
	barrier_var(i);
	barrier_var(call);
	if (i >= RUBY_CALLS_MAX || call >= RUBY_CALLS_MAX || call >= w->call_count)
		return 0;
	at = w->firsts[i];
	barrier_var(at);
	if (at < MANAGED_MAX && at < m->count)
		m->frames[at].place = w->calls[call];
	return 1;
}

static long place_group(__u32 i, void *ctx)
{
	struct ruby_loop *loop = ctx;
	int more = ruby_place_group(loop->w, loop->m, i);

	barrier_var(more);
	return more ? 0 : 1;
}

/*
 * The loop that rb_vm_exec calls has a separate C frame: merges the two. The loop's code lies in
 * the frame inside the one that returns to rb_vm_exec.
 */
__noinline int ruby_join_frame(struct stack_scratch *s, struct runtime_scratch *notes,
			       struct ruby_walk *w, __u32 i)
{
	__u32 from, to;
	__u64 addr, vaddr;
	bool is_exec;

	if (!s || !notes || !w || i >= USER_DEPTH_MAX)
		return 0;
	from = s->kernel_depth + i;
	to = s->kernel_depth + w->joined;
	barrier_var(from);
	barrier_var(to);
	if (from >= DEPTH_MAX || to >= DEPTH_MAX)
		return 0;
	addr = s->words[HEADER_WORDS + from];
	vaddr = addr - w->bias;
	is_exec = vaddr >= w->layout.exec_start && vaddr < w->layout.exec_end;
	if (is_exec && w->inner_is_loop) {
		w->inner_is_loop = 0;
		return 1;
	}
	w->inner_is_loop = vaddr >= w->layout.loop_start && vaddr < w->layout.loop_end;
	s->words[HEADER_WORDS + to] = addr;
	s->kinds[to] = s->kinds[from];
	to = w->joined;
	barrier_var(to);
	if (to >= USER_DEPTH_MAX)
		return 0;
	notes->sps[to] = notes->sps[i];
	w->joined = to + 1;
	return 1;
}

static long join_frame(__u32 i, void *ctx)
{
	struct ruby_loop *loop = ctx;
	int more = ruby_join_frame(loop->s, loop->notes, loop->w, i);

	barrier_var(more);
	return more ? 0 : 1;
}

static __always_inline void ruby_join_frames(struct stack_scratch *s, struct runtime_scratch *notes,
					     struct ruby_walk *w)
{
	struct ruby_loop loop = {.s = s, .notes = notes, .w = w};
	__u64 vaddr = s->leaf - w->bias;

	w->joined = 0;
	w->inner_is_loop = !(s->sample_flags & SAMPLE_LEAF_KERNEL) &&
			   vaddr >= w->layout.loop_start && vaddr < w->layout.loop_end;
	bpf_loop(s->user_depth, join_frame, &loop, 0);
	s->user_depth = w->joined;
}

/*
 * Returns whether the context belongs to another thread, if the interpreter only exposes the
 * running context. No call lies on this thread's stack then.
 */
static __always_inline bool ruby_is_foreign(const struct stack_scratch *s,
					    const struct ruby_walk *w)
{
	return w->layout.context && w->call_count && w->calls[0] - s->top_sp > RUBY_MACHINE_MAX;
}

/* Finds the frames and their positions. False: there are none, or they are inconsistent. */
static __always_inline bool ruby_capture(struct stack_scratch *s, struct managed_scratch *m,
					 struct ruby_walk *w)
{
	struct ruby_loop loop = {.w = w, .m = m};

	w->call_count = w->first_call = 0;
	bpf_loop(RUBY_TAGS_MAX, take_tag, &loop, 0);
	if (ruby_is_foreign(s, w)) {
		w->torn = 0;
		return false;
	}
	if (w->tag && !w->torn)
		w->torn = 2;
	if (w->torn == 1)
		return false;
	ruby_walk_frames(w, m, 0);
	/* The innermost call has its frame, but no tag yet. */
	if (!w->torn && w->group_count == w->call_count + 1)
		ruby_walk_frames(w, m, 1);
	/* The innermost call has left its frame, but not its tag. */
	if (!w->torn && w->call_count == w->group_count + 1)
		w->first_call = 1;
	if (!w->torn && w->call_count != w->group_count + w->first_call)
		w->torn = 1;
	if (w->torn == 1)
		return false;
	bpf_loop(RUBY_CALLS_MAX, place_group, &loop, 0);
	return true;
}

/* Replaces the address of the frame entered last, or the leaf. */
static __always_inline void ruby_replace_frame(struct stack_scratch *s, __u64 addr)
{
	__u32 depth = s->user_depth, at = s->kernel_depth + depth - 1;

	barrier_var(at); /* as in sum_of() */
	if (!depth)
		s->leaf = addr;
	else if (at < DEPTH_MAX)
		s->words[HEADER_WORDS + at] = addr;
}

static long skip_call(__u32 i, void *ctx)
{
	struct ruby_loop *loop = ctx;
	__u32 at = loop->w->resumed_call;

	barrier_var(at);
	if (at >= RUBY_CALLS_MAX || at >= loop->w->call_count ||
	    loop->w->calls[at] > loop->s->frame.sp)
		return 1;
	loop->w->resumed_call = at + 1;
	return 0;
}

/*
 * Goes to the C frame of the interpreter call that runs the compiled code of s->frame, and that
 * represents all of this code: its native frames cannot be found, but its methods have control
 * frames. The tag has the registers of the C frame. False: there is none.
 */
__noinline int ruby_leave_compiled(struct stack_scratch *s, struct ruby_walk *w)
{
	struct ruby_loop loop = {.s = s, .w = w};
	struct ruby_registers registers = {};
	__u32 at;

	if (!s || !w)
		return 0;
	bpf_loop(RUBY_CALLS_MAX, skip_call, &loop, 0);
	at = w->resumed_call;
	barrier_var(at);
	if (at >= RUBY_CALLS_MAX || at >= w->call_count ||
	    !ruby_read_tag(w, w->calls[at], &registers) || registers.sp <= s->frame.sp)
		return 0;
	s->frame.pc = registers.pc;
	s->frame.sp = registers.sp;
	s->frame.fp = registers.fp;
	s->frame.base = s->frame.fp_at = s->frame.base_at = 0;
	/* The compiler's resume label does not follow a call. */
	s->frame.is_pc = !w->layout.hidden_at;
	s->frame.has_sp = 1;
	s->frame.by_fp = s->frame.has_others = 0;
	ruby_replace_frame(s, registers.pc);
	return 1;
}

/* Steps from the frame at which the walk has stopped. */
__noinline int ruby_turn(struct stack_scratch *s, struct ruby_walk *w)
{
	if (!s || !w)
		return 0;
	if (s->resumes == RESUME_HERE) {
		s->stack_flags &= ~STACK_BROKEN;
		s->resumes = ruby_leave_compiled(s, w) ? RESUME_NOWHERE : RESUME_REFUSED;
	}
	return unwind_frame(s) || s->resumes == RESUME_HERE;
}

static long ruby_next(__u32 i, void *ctx)
{
	struct ruby_loop *loop = ctx;
	int more = ruby_turn(loop->s, loop->w);

	barrier_var(more);
	return more ? 0 : 1;
}

/* Continues the walk from compiled code to the root. */
static __always_inline void ruby_walk_on(struct stack_scratch *s, struct ruby_walk *w)
{
	struct ruby_loop loop = {.s = s, .w = w};

	w->resumed_call = 0;
	if (w->torn == 1)
		w->call_count = 0;
	bpf_loop(s->depth_limit ? s->depth_limit : USER_DEPTH_MAX, ruby_next, &loop, 0);
	if (!(s->stack_flags & (STACK_WHOLE | STACK_BROKEN | STACK_UNKNOWN)))
		cut_off(s);
}

/* A global function, because its caller is short of stack. */
__noinline bool ruby_begin(struct stack_scratch *s, struct ruby_walk *w)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct tracked_process *process = find_current(task);
	struct runtime_layout *layout;
	__u32 number;

	if (!s || !w)
		return false;
	number = s->space.runtimes[0].layout;
	layout = bpf_map_lookup_elem(&runtime_layouts, &number);
	if (!layout || layout->kind != RUNTIME_RUBY || !process)
		return false;
	w->layout = layout->ruby;
	w->layout_number = number;
	w->bias = s->space.runtimes[0].bias;
	w->torn = 0;
	w->process =
		mix_bits(process->start + mix_bits(task->tgid + ((__u64)s->space.execs << 32)));
	return true;
}

static __always_inline void ruby_place(struct stack_scratch *s, struct runtime_scratch *notes,
				       struct managed_scratch *m, struct ruby_walk *w,
				       struct runtime_counters *count)
{
	if (s->stack_flags & STACK_UNKNOWN) {
		s->managed_count = m->count;
		if (m->count)
			count->copied++;
		else
			count->idle++;
		return;
	}
	if (w->torn == 2)
		count->cut++;
	if (!m->count) {
		count->idle++;
		return;
	}
	if (!config.interpreter_frames)
		ruby_join_frames(s, notes, w);
	if (merge_frames(s, notes, m))
		count->unplaced++;
	else if (!w->torn)
		count->whole++;
}

/*
 * Adds the current thread's functions to the stack in s. Returns their number. `like`: the header
 * of its sample.
 */
static __always_inline __u32 ruby_add_frames(struct stack_scratch *s, struct runtime_scratch *notes,
					     const struct rec *like)
{
	struct runtime_counters *count = own_runtime_counters(RUNTIME_RUBY);
	struct managed_scratch *m = own_managed_scratch();
	struct ruby_walk *w = own_ruby_walk();
	bool has_frames;

	if (!m || !w || !count)
		return 0;
	if (!ruby_begin(s, w)) {
		count->missed++;
		return 0;
	}
	count->samples++;
	m->like = *like;
	m->process = 0; /* each call has its own position */
	m->foreign_sp = 0;
	m->count = 0;
	has_frames = ruby_find_context(w) && ruby_capture(s, m, w);
	if (s->resumes)
		ruby_walk_on(s, w);
	if (has_frames)
		ruby_place(s, notes, m, w, count);
	else if (w->torn)
		count->torn++;
	else
		count->threadless++;
	if (w->torn == 1)
		m->count = 0;
	note_walk(s, like, m->count, w->torn);
	return m->count;
}
