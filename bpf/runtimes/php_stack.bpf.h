/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Adds PHP's functions to a stack. Each call of the interpreter, execute_ex, runs a group of frames
 * up to one with a flag. Its C frames are known by their code, and counted: there must be as many
 * of them as groups. A fiber has a stack of its own, and a frame without a name at its root: the
 * frames further out follow the last of that stack.
 */
#pragma once

#include "bpf/runtimes/merge.bpf.h"
#include "bpf/runtimes/php.bpf.h"

struct php_loop {
	struct stack_scratch *s;
	struct runtime_scratch *notes;
	struct managed_scratch *m;
	struct php_walk *w;
};

/* Is it behind a call of the interpreter? */
static __always_inline bool php_is_return(const struct php_walk *w, __u64 addr)
{
	__u64 start = w->bias + w->layout.exec_start[0], target;
	__u8 code[8];
	__s32 distance;

	if (!php_read(code, sizeof(code), addr - sizeof(code)))
		return false;
	__builtin_memcpy(&distance, code + 4, sizeof(distance));
	if (code[3] == 0xe8)
		return addr + (__s64)distance == start;
	/* Extensions may replace it: it is called by a variable. */
	if (code[2] == 0xff && code[3] == 0x15)
		return php_read(&target, sizeof(target), addr + (__s64)distance) && target == start;
	return code[6] == 0xff && ((code[7] & 0xf8) == 0x10 || (code[7] & 0xf8) == 0xd0);
}

/* Words that compiled code has on the stack besides the interpreter's frame. */
#define PHP_WORDS_MAX 4

/*
 * Makes the frame of compiled code that of the interpreter's call in which it runs. False: it is
 * other generated code.
 */
__noinline int php_leave_compiled(struct stack_scratch *s, struct php_walk *w)
{
	__u32 at, depth;
	__u64 sp, ra;

	if (!s || !w || !w->layout.exec_size)
		return 0;
	for (int i = 0; i <= PHP_WORDS_MAX; i++) {
		sp = s->frame.sp + i * 8;
		if (!php_read(&ra, sizeof(ra), sp + w->layout.exec_size - 8) ||
		    !php_is_return(w, ra))
			continue;
		s->frame.pc = w->bias + w->layout.dispatch;
		s->frame.sp = sp;
		s->frame.is_pc = 1;
		depth = s->user_depth;
		at = s->kernel_depth + depth - 1;
		barrier_var(at); /* as in sum_of() */
		if (!depth)
			s->leaf = s->frame.pc;
		else if (at < DEPTH_MAX)
			s->words[HEADER_WORDS + at] = s->frame.pc;
		return 1;
	}
	return 0;
}

/* Steps on from the frame at which the walk has stopped. */
__noinline int php_turn(struct stack_scratch *s, struct php_walk *w)
{
	if (!s || !w)
		return 0;
	if (s->resumes == RESUME_HERE) {
		s->stack_flags &= ~STACK_BROKEN;
		s->resumes = php_leave_compiled(s, w) ? RESUME_NOWHERE : RESUME_REFUSED;
	}
	return unwind_frame(s) || s->resumes == RESUME_HERE;
}

static long php_next(__u32 i, void *ctx)
{
	struct php_loop *loop = ctx;
	int more = php_turn(loop->s, loop->w);

	/* As in unwind_turn(). */
	barrier_var(more);
	return more ? 0 : 1;
}

/* Walks on from compiled code to the root. */
static __always_inline void php_walk_on(struct stack_scratch *s, struct php_walk *w)
{
	struct php_loop loop = {.s = s, .w = w};

	bpf_loop(s->depth_limit ? s->depth_limit : USER_DEPTH_MAX, php_next, &loop, 0);
	if (!(s->stack_flags & (STACK_WHOLE | STACK_BROKEN | STACK_UNKNOWN)))
		cut_off(s);
}

/* Does the frame that was read only begin a fiber's stack? */
static __always_inline bool php_is_fiber(const struct php_walk *w)
{
	return php_type(w) == PHP_TYPE_INTERNAL && !w->function[PHP_FUNCTION_NAME];
}

/* Is the frame that was read the outermost of its call? Functions in C have none. */
static __always_inline bool php_ends_group(const struct php_walk *w)
{
	return w->frame_words[PHP_FRAME_FLAGS] & PHP_FRAME_TOP && php_type(w) != PHP_TYPE_INTERNAL;
}

/* Ends the group of a call. False: no room. */
static __always_inline bool php_end_group(struct php_walk *w, struct managed_scratch *m)
{
	__u32 at = w->group_count;

	if (w->is_apart)
		return true;
	barrier_var(at);
	if (at >= PHP_CALLS_MAX)
		return false;
	w->firsts[at] = m->group;
	w->group_count = at + 1;
	m->group = m->count;
	return true;
}

/* Adds the frame that was read. False: no room. */
static __always_inline bool php_add_frame(struct php_walk *w, struct managed_scratch *m,
					  __u64 position)
{
	__u32 at = m->count;

	barrier_var(at);
	if (at >= MANAGED_MAX)
		return false;
	m->frames[at].position = position;
	m->frames[at].place = 0;
	/* The outermost native frames are not those of the code that resumed the fiber. */
	if (w->is_apart == 1) {
		m->frames[at].place = PLACE_BEYOND;
		w->is_apart = 2;
	}
	m->count = at + 1;
	return true;
}

/* Takes the frame at w->frame. False: there are no more, or they cannot be followed. */
__noinline int php_take_frame(struct php_walk *w, struct managed_scratch *m)
{
	__u64 position;

	if (!w || !m || !w->frame)
		return 0;
	w->torn = 1;
	if ((w->frame & 7) || !php_read(w->frame_words, sizeof(w->frame_words), w->frame))
		return 0;
	/* Generators that delegate have such frames. */
	if (!w->frame_words[PHP_FRAME_FUNCTION])
		goto next;
	if (!php_read_function(w))
		return 0;
	if (php_is_fiber(w)) {
		w->is_apart = w->is_apart ? w->is_apart : 1;
		goto next;
	}
	if (w->skips) {
		w->skips -= php_ends_group(w);
		goto next;
	}
	position = php_position(w, &m->like);
	if (!position)
		return 0;
	if (!php_add_frame(w, m, position) || (php_ends_group(w) && !php_end_group(w, m))) {
		w->torn = 2;
		return 0;
	}
next:
	w->torn = 0;
	w->frame = w->frame_words[PHP_FRAME_OUTER];
	return w->frame != 0;
}

static long php_take(__u32 i, void *ctx)
{
	struct php_loop *loop = ctx;
	int more = php_take_frame(loop->w, loop->m);

	/* As in unwind_turn(). */
	barrier_var(more);
	return more ? 0 : 1;
}

/* Walks the frames, without those of so many of the innermost groups. */
__noinline int php_walk_frames(struct php_walk *w, struct managed_scratch *m, __u32 skips)
{
	struct php_loop loop = {.w = w, .m = m};

	if (!w || !m)
		return 0;
	m->count = m->group = m->is_cut = 0;
	w->group_count = w->is_apart = w->torn = 0;
	w->skips = skips;
	w->frame = w->innermost;
	bpf_loop(2 * MANAGED_MAX, php_take, &loop, 0);
	if (w->frame && !w->torn)
		w->torn = 2;
	/* The last group has no end. */
	m->is_cut = w->torn == 2;
	if (m->is_cut && m->group < m->count)
		php_end_group(w, m);
	return 1;
}

/* Is the address in the interpreter's code? */
static __always_inline bool php_is_interpreter(const struct php_walk *w, __u64 addr)
{
	__u64 vaddr = addr - w->bias;

	return (vaddr >= w->layout.exec_start[0] && vaddr < w->layout.exec_end[0]) ||
	       (vaddr >= w->layout.exec_start[1] && vaddr < w->layout.exec_end[1]);
}

static __always_inline void php_add_call(struct php_walk *w, __u64 sp)
{
	__u32 at = w->call_count;

	barrier_var(at);
	if (at >= PHP_CALLS_MAX)
		return;
	w->calls[at] = sp & ~1ull;
	w->call_count = at + 1;
}

/* Checks native frame `i` after the leaf. */
__noinline int php_count_frame(struct stack_scratch *s, struct runtime_scratch *notes,
			       struct php_walk *w, __u32 i)
{
	__u32 at;
	__u64 pc;

	if (!s || !notes || !w)
		return 0;
	at = s->kernel_depth + i;
	barrier_var(i);
	barrier_var(at);
	if (i >= USER_DEPTH_MAX || at >= DEPTH_MAX)
		return 0;
	pc = s->words[HEADER_WORDS + at];
	if (i || !(s->sample_flags & SAMPLE_LEAF_KERNEL))
		pc--; /* a return address */
	if (php_is_interpreter(w, pc))
		php_add_call(w, notes->sps[i]);
	return 1;
}

static long php_count(__u32 i, void *ctx)
{
	struct php_loop *loop = ctx;
	int more = php_count_frame(loop->s, loop->notes, loop->w, i);

	barrier_var(more);
	return more ? 0 : 1;
}

/* Finds the C frames of the interpreter's calls. */
static __always_inline void php_count_calls(struct stack_scratch *s, struct runtime_scratch *notes,
					    struct php_walk *w)
{
	struct php_loop loop = {.s = s, .notes = notes, .w = w};

	w->call_count = 0;
	if (!(s->sample_flags & SAMPLE_LEAF_KERNEL) && php_is_interpreter(w, s->leaf))
		php_add_call(w, s->top_sp);
	bpf_loop(s->user_depth, php_count, &loop, 0);
}

/* Gives group `i` its place. */
__noinline int php_place_group(struct php_walk *w, struct managed_scratch *m, __u32 i)
{
	__u32 call, at;

	if (!w || !m)
		return 0;
	call = i + w->first_call;
	if (i >= w->group_count)
		return 0;
	barrier_var(i);
	barrier_var(call);
	if (i >= PHP_CALLS_MAX || call >= PHP_CALLS_MAX)
		return 0;
	at = w->firsts[i];
	barrier_var(at);
	if (at >= MANAGED_MAX || at >= m->count)
		return 0;
	m->frames[at].place = call < w->call_count ? w->calls[call] : PLACE_BEYOND;
	return call < w->call_count;
}

static long php_place(__u32 i, void *ctx)
{
	struct php_loop *loop = ctx;
	int more = php_place_group(loop->w, loop->m, i);

	barrier_var(more);
	return more ? 0 : 1;
}

/* The stack ends before the calls of all groups. */
static __always_inline void php_end_early(const struct stack_scratch *s, struct managed_scratch *m,
					  struct php_walk *w)
{
	__u32 calls = w->call_count;

	barrier_var(calls);
	if (s->stack_flags & STACK_BROKEN || calls >= w->group_count || calls >= PHP_CALLS_MAX)
		return;
	m->count = w->firsts[calls];
	w->torn = 2;
}

/*
 * Finds the frames, and their places. An interpreter's call begins after its frame was linked, and
 * ends after it was unlinked: the outermost ones fit, unless the stack ends early.
 */
static __always_inline void php_capture(struct stack_scratch *s, struct runtime_scratch *notes,
					struct managed_scratch *m, struct php_walk *w)
{
	struct php_loop loop = {.w = w, .m = m};
	bool is_whole = s->stack_flags & STACK_WHOLE;

	w->first_call = 0;
	php_walk_frames(w, m, 0);
	php_count_calls(s, notes, w);
	if (is_whole && !w->torn) {
		if (w->call_count < w->group_count)
			php_walk_frames(w, m, w->group_count - w->call_count);
		else
			w->first_call = w->call_count - w->group_count;
	}
	if (w->torn == 1 || !w->call_count) {
		m->count = 0;
		return;
	}
	php_end_early(s, m, w);
	bpf_loop(PHP_CALLS_MAX, php_place, &loop, 0);
}

static __always_inline void php_finish(struct stack_scratch *s, struct runtime_scratch *notes,
				       struct managed_scratch *m, struct php_walk *w,
				       struct runtime_counters *count)
{
	if (w->torn == 1) {
		count->torn++;
		return;
	}
	/* Calls cannot be counted in a stack that is walked later. */
	if (s->stack_flags & STACK_UNKNOWN && w->innermost) {
		m->count = 0;
		count->torn++;
		return;
	}
	if (!m->count) {
		if (w->innermost)
			count->threadless++;
		else
			count->idle++;
		return;
	}
	if (w->torn)
		count->cut++;
	m->is_split = w->is_apart;
	if (merge_frames(s, notes, m))
		count->unplaced++;
	else if (!w->torn)
		count->whole++;
	m->is_split = 0;
}

/* A global function, because its caller's memory is short. */
__noinline bool php_begin(struct stack_scratch *s, struct php_walk *w)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct tracked_process *process = find_current(task);
	struct runtime_layout *layout;
	__u32 number;

	if (!s || !w)
		return false;
	number = s->space.runtimes[0].layout;
	layout = bpf_map_lookup_elem(&runtime_layouts, &number);
	if (!layout || layout->kind != RUNTIME_PHP || !process)
		return false;
	w->layout = layout->php;
	w->layout_number = number;
	w->bias = s->space.runtimes[0].bias;
	w->torn = 0;
	w->process =
		mix_bits(process->start + mix_bits(task->tgid + ((__u64)s->space.execs << 32)));
	w->innermost = w->running = 0;
	if (!php_read(&w->innermost, sizeof(w->innermost), w->bias + w->layout.frame))
		w->torn = 1;
#if !IS_ARM64
	/* The interpreter keeps frame and instruction in these registers. */
	if (php_is_interpreter(w, s->top_pc) && s->regs.r14 == w->innermost)
		w->running = s->regs.r15;
#endif
	return true;
}

/*
 * Adds the current thread's functions to the stack in s. Returns how many. `like`: the header of
 * its sample.
 */
static __always_inline __u32 php_add_frames(struct stack_scratch *s, struct runtime_scratch *notes,
					    const struct rec *like)
{
	struct runtime_counters *count = own_runtime_counters(RUNTIME_PHP);
	struct managed_scratch *m = own_managed_scratch();
	struct php_walk *w = own_php_walk();

	if (!m || !w || !count)
		return 0;
	if (!php_begin(s, w)) {
		count->missed++;
		return 0;
	}
	count->samples++;
	m->like = *like;
	m->process = 0; /* each call has a place of its own */
	m->foreign_sp = 0;
	m->count = 0;
	if (s->resumes)
		php_walk_on(s, w);
	if (!w->torn && w->innermost)
		php_capture(s, notes, m, w);
	php_finish(s, notes, m, w, count);
	note_walk(s, like, m->count, w->torn);
	return m->count;
}
