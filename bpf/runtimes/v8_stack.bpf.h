/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Adds JavaScript functions to a stack. V8's code keeps a frame pointer, so the walker finds the
 * frame of each call, and the frame contains its function: two slots below the frame pointer,
 * unless the slot above marks a frame of another type. A function replaces the native frame that
 * runs it: its own machine code, or the interpreter's.
 */
#pragma once

#include "bpf/runtimes/merge.bpf.h"
#include "bpf/runtimes/v8_first_seen.bpf.h"

struct v8_loop {
	struct stack_scratch *s;
	struct runtime_scratch *notes;
	struct managed_scratch *m;
	struct v8_walk *w;
};

/*
 * Finds the tier of the frame's code. `sp`: the frame's current end. The interpreter and baseline
 * code keep the bytecode in the frame, the interpreter with its position in it.
 */
static __always_inline void v8_find_tier(struct v8_walk *w, __u64 fp, __u64 sp)
{
	__u64 words[2];

	w->tier = V8_TIER_UNKNOWN;
	w->bytecode = w->bytecode_size = 0;
	if (sp > fp + V8_FRAME_OFFSET || !v8_is_reference(w->frame[1]) ||
	    !v8_read(w->frame[1], 0, words, sizeof(words)) || !v8_is(w, words[0], V8_BYTECODE))
		return;
	w->bytecode = w->frame[1];
	w->bytecode_size = words[1] >> 32;
	w->tier = v8_is_small(w->frame[0]) ? V8_TIER_INTERPRETED : V8_TIER_BASELINE;
}

/* Finds the script of the function just read. Returns false if unknown. */
static __always_inline bool v8_find_script(struct v8_walk *w)
{
	__u64 builtin = v8_shared_word(w, w->layout.shared_builtin);

	w->script = 0;
	if (v8_is_small(builtin) && (__s64)builtin >= 0) {
		w->script_id = builtin | 1ull << 63;
		w->tier = V8_TIER_BUILTIN;
		return w->layout.names_builtins;
	}
	w->script = v8_shared_word(w, w->layout.shared_script);
	if (v8_is_reference(w->script) &&
	    v8_read(w->script, w->layout.script_id, &w->script_id, sizeof(w->script_id)) &&
	    v8_is_small(w->script_id))
		return true;
	w->torn = 1;
	return false;
}

/* Reads the frame of a function. False: it is a frame of another kind. */
static __always_inline bool v8_read_frame(struct v8_walk *w, __u64 fp, __u64 sp)
{
	__u64 function, shared;

	/* A function that has just begun has not set up its frame yet. */
	if (sp > fp + V8_FRAME_FUNCTION ||
	    bpf_probe_read_user(w->frame, sizeof(w->frame), (const void *)(fp + V8_FRAME_OFFSET)))
		return false;
	function = w->frame[3];
	if (!v8_is_reference(w->frame[4]) || !v8_is_reference(function))
		return false;
	if (!v8_read(function, w->layout.function_shared, &shared, sizeof(shared)) ||
	    !v8_is_reference(shared) || !v8_read(shared, 0, w->shared, V8_SHARED_MAX) ||
	    !v8_is(w, w->shared[0], V8_SHARED)) {
		w->torn = 1;
		return false;
	}
	v8_find_tier(w, fp, sp);
	return v8_find_script(w);
}

/* Checks the native frame inside frame `i` after the leaf. */
__noinline int v8_take_frame(struct stack_scratch *s, struct runtime_scratch *notes,
			     struct managed_scratch *m, struct v8_walk *w, __u32 i)
{
	__u32 at, inner = i - 1;
	__u64 end, sp, fp, position;

	if (!s || !notes || !m || !w || i >= USER_DEPTH_MAX)
		return 0;
	end = notes->sps[i];
	/* The callee of the frame, or none yet. */
	barrier_var(inner);
	sp = inner < USER_DEPTH_MAX ? notes->sps[inner] : s->top_sp & ~1ull;
	/* There is no user frame inside the first one if the leaf is in the kernel. */
	if (!(end & 1) || (!i && s->sample_flags & SAMPLE_LEAF_KERNEL))
		return 1;
	fp = (end & ~1ull) - 16;
	at = s->kernel_depth + inner;
	barrier_var(at);
	/* A return address may belong to the next function. */
	w->pc = i && at < DEPTH_MAX ? s->words[HEADER_WORDS + at] - 1 : s->leaf;
	w->sp = sp & 1 ? 0 : sp;
	sp &= ~1ull;
	if (!v8_read_frame(w, fp, sp))
		return 1;
	w->identity = v8_identity(w);
	v8_find_compiler(s, w);
	position = v8_position(w, &m->like);
	if (add_frame(m, position, fp))
		return 1;
	w->torn = 2;
	return 0;
}

LOOP_CALLBACK(take_frame, v8_loop, v8_take_frame(loop->s, loop->notes, loop->m, loop->w, i))

static __always_inline void v8_capture(struct stack_scratch *s, struct runtime_scratch *notes,
				       struct managed_scratch *m, struct v8_walk *w,
				       struct runtime_counters *count)
{
	struct v8_loop loop = {.s = s, .notes = notes, .m = m, .w = w};

	m->count = m->group = 0;
	m->process = 0; /* each frame has its own position */
	w->torn = w->searches = w->lacks_code = 0;
	/* Only frames that the walk has reached are known; copies are walked in user space. */
	if (s->stack_flags & STACK_UNKNOWN) {
		s->managed_count = 0;
		count->copied++;
		return;
	}
	bpf_loop(s->user_depth, take_frame, &loop, 0);
	count->unfound += w->lacks_code;
	m->is_cut = w->torn == 2;
	if (w->torn == 1)
		count->torn++;
	else if (w->torn)
		count->cut++;
	if (!m->count)
		count->idle += !w->torn;
	else
		merge_walked(s, notes, m, w->torn, count);
}

/* A global function, because its caller is short of stack. */
__noinline bool v8_begin(struct stack_scratch *s, struct v8_walk *w)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct tracked_process *process = find_current(task);
	const struct runtime_layout *layout;
	__u64 key;

	if (!s || !w)
		return false;
	layout = layout_of(s, RUNTIME_V8);
	if (!layout || !process)
		return false;
	w->layout = layout->v8;
	w->layout_number = s->space.runtimes[0].layout;
	w->tid = task->pid;
	key = hash_process(s, task, process);
	if (w->process != key) {
		__builtin_memset(w->maps, 0, sizeof(w->maps));
		w->stream_map = 0;
	}
	w->process = key;
	return true;
}

/*
 * Adds the current thread's functions to the stack in s. Returns their number. `like`: the header
 * of its sample.
 */
static __always_inline __u32 v8_add_frames(struct stack_scratch *s, struct runtime_scratch *notes,
					   const struct rec *like)
{
	struct runtime_counters *count = own_runtime_counters(RUNTIME_V8);
	struct managed_scratch *m = own_managed_scratch();
	struct v8_walk *w = own_v8_walk();

	if (!m || !w || !count)
		return 0;
	if (!v8_begin(s, w)) {
		count->missed++;
		return 0;
	}
	count->samples++;
	m->like = *like;
	v8_capture(s, notes, m, w, count);
	note_walk(s, like, m->count, w->torn);
	return m->count;
}
