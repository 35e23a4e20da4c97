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

LOOP_CALLBACK(take_tag, ruby_loop, ruby_take_tag(loop->w))

/* Ends the group if the frame just read is the outermost of its call. False: no room. */
static __always_inline bool ruby_end_frame(struct ruby_walk *w, struct managed_scratch *m)
{
	if (!(w->env[RUBY_ENV_FLAGS] & RUBY_FRAME_FINISH))
		return true;
	if (!w->skips)
		return end_call_group(&w->groups, m);
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
	w->torn = (position == RUBY_POSITION_NONE || add_frame(m, position, 0)) &&
				  ruby_end_frame(w, m)
			  ? 0
			  : 2;
	return !w->torn;
}

LOOP_CALLBACK(take_control_frame, ruby_loop, ruby_take_frame(loop->w, loop->m))

/* Walks the control frames, without those of an innermost call that has not begun. */
__noinline int ruby_walk_frames(struct ruby_walk *w, struct managed_scratch *m, __u32 skips)
{
	struct ruby_loop loop = {.w = w, .m = m};

	if (!w || !m)
		return 0;
	begin_groups(&w->groups, m);
	w->torn = 0;
	w->skips = skips;
	w->frame = w->context[RUBY_EC_FRAME];
	bpf_loop(4 * MANAGED_MAX, take_control_frame, &loop, 0);
	if (w->frame < w->end && !w->torn)
		w->torn = 2;
	end_groups(&w->groups, m, w->torn == 2);
	/*
	 * C methods with which a thread or fiber began run outside of all calls: place them before
	 * the outermost one.
	 */
	if (!w->groups.count && !w->torn)
		m->count = 0;
	return 1;
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

LOOP_CALLBACK(join_frame, ruby_loop, ruby_join_frame(loop->s, loop->notes, loop->w, i))

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
	return w->layout.context && w->groups.call_count &&
	       w->groups.calls[0] - s->top_sp > RUBY_MACHINE_MAX;
}

/* Finds the frames and their positions. False: there are none, or they are inconsistent. */
static __always_inline bool ruby_capture(struct stack_scratch *s, struct managed_scratch *m,
					 struct ruby_walk *w)
{
	struct ruby_loop loop = {.w = w, .m = m};

	w->groups.call_count = w->groups.first_call = 0;
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
	if (!w->torn && w->groups.count == w->groups.call_count + 1)
		ruby_walk_frames(w, m, 1);
	/* The innermost call has left its frame, but not its tag. */
	if (!w->torn && w->groups.call_count == w->groups.count + 1)
		w->groups.first_call = 1;
	if (!w->torn && w->groups.call_count != w->groups.count + w->groups.first_call)
		w->torn = 1;
	if (w->torn == 1)
		return false;
	place_groups(&w->groups, m, 0);
	return true;
}

static long skip_call(__u32 i, void *ctx)
{
	struct ruby_loop *loop = ctx;
	__u32 at = loop->w->resumed_call;

	barrier_var(at);
	if (at >= GROUPS_MAX || at >= loop->w->groups.call_count ||
	    loop->w->groups.calls[at] > loop->s->frame.sp)
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
	bpf_loop(GROUPS_MAX, skip_call, &loop, 0);
	at = w->resumed_call;
	barrier_var(at);
	if (at >= GROUPS_MAX || at >= w->groups.call_count ||
	    !ruby_read_tag(w, w->groups.calls[at], &registers) || registers.sp <= s->frame.sp)
		return 0;
	s->frame.pc = registers.pc;
	s->frame.sp = registers.sp;
	s->frame.fp = registers.fp;
	s->frame.base = s->frame.fp_at = s->frame.base_at = 0;
	/* The compiler's resume label does not follow a call. */
	s->frame.is_pc = !w->layout.hidden_at;
	s->frame.has_sp = 1;
	s->frame.by_fp = s->frame.has_others = 0;
	replace_frame(s, registers.pc);
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

LOOP_CALLBACK(ruby_next, ruby_loop, ruby_turn(loop->s, loop->w))

/* Continues the walk from compiled code to the root. */
static __always_inline void ruby_walk_on(struct stack_scratch *s, struct ruby_walk *w)
{
	struct ruby_loop loop = {.s = s, .w = w};

	w->resumed_call = 0;
	if (w->torn == 1)
		w->groups.call_count = 0;
	walk_on(s, ruby_next, &loop);
}

/* A global function, because its caller is short of stack. */
__noinline bool ruby_begin(struct stack_scratch *s, struct ruby_walk *w)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct tracked_process *process = find_current(task);
	const struct runtime_layout *layout;

	if (!s || !w)
		return false;
	layout = layout_of(s, RUNTIME_RUBY);
	if (!layout || !process)
		return false;
	w->layout = layout->ruby;
	w->layout_number = s->space.runtimes[0].layout;
	w->bias = s->space.runtimes[0].bias;
	w->torn = 0;
	w->process = hash_process(s, task, process);
	return true;
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
	if (has_frames) {
		if (m->count && !(s->stack_flags & STACK_UNKNOWN) && !config.interpreter_frames)
			ruby_join_frames(s, notes, w);
		place_walked(s, notes, m, w->torn, count);
	} else if (w->torn) {
		count->torn++;
	} else {
		count->threadless++;
	}
	if (w->torn == 1)
		m->count = 0;
	note_walk(s, like, m->count, w->torn);
	return m->count;
}
