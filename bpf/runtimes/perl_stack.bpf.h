/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Adds Perl's subs to a stack. Each call of the loop that runs code, from C, runs a group of
 * frames: contexts up to one that C code has entered, or up to the end of their stack. Loops have
 * no address in their groups, so both are counted, from the outermost on: innermost, a group may
 * have been entered whose loop does not run yet, and a loop may have left its group.
 */
#pragma once

#include "bpf/runtimes/merge.bpf.h"
#include "bpf/runtimes/perl_first_seen.bpf.h"

struct perl_loop {
	struct stack_scratch *s;
	struct runtime_scratch *notes;
	struct managed_scratch *m;
	struct perl_walk *w;
};

/* perl_run() may call the loop by a function of its own. */
#define PERL_MAIN_FRAMES 2

static __always_inline bool perl_is_main(const struct perl_walk *w, __u64 pc)
{
	__u64 vaddr = pc - w->bias;

	return w->groups.call_count && w->since_call <= PERL_MAIN_FRAMES &&
	       vaddr >= w->layout.main_start && vaddr < w->layout.main_end;
}

static __always_inline bool perl_is_call(const struct perl_walk *w, __u64 pc)
{
	return is_in_code(w->layout.run_start, w->layout.run_end, pc - w->bias);
}

/*
 * Takes a native frame. Code that catches errors may have a loop of its own, without a group: an
 * operation of the outer loop ends with a jump to the function that calls it. All other ways from
 * one loop to the next have more frames than one. True: it is the outer of such a pair.
 */
static __always_inline bool perl_take_native(struct perl_walk *w, __u64 pc, __u64 sp)
{
	__u32 since = w->since_call;

	if (!perl_is_call(w, pc)) {
		w->since_call++;
		w->has_main |= perl_is_main(w, pc);
		return false;
	}
	w->since_call = 0;
	if (w->groups.call_count && since == 1 && !w->keeps_catches) {
		w->catches++;
		return true;
	}
	if (!add_call(&w->groups, sp & ~1ull))
		w->groups.call_count++; /* no place, but one more than there are groups */
	return false;
}

/* Keeps a native frame, or leaves out the pair of which it is the outer one. */
static __always_inline void perl_join_frame(struct stack_scratch *s, struct runtime_scratch *notes,
					    struct perl_walk *w, __u32 from, __u32 i, bool is_catch)
{
	__u32 at = w->joined, to = s->kernel_depth + at;

	if (is_catch) {
		w->joined = at ? at - 1 : 0;
		return;
	}
	/* As in put_frame(). */
	barrier_var(to);
	barrier_var(at);
	barrier_var(from);
	barrier_var(i);
	if (at >= USER_DEPTH_MAX || to >= DEPTH_MAX || from >= DEPTH_MAX || i >= USER_DEPTH_MAX)
		return;
	s->words[HEADER_WORDS + to] = s->words[HEADER_WORDS + from];
	s->kinds[to] = s->kinds[from];
	notes->sps[at] = notes->sps[i];
	w->joined = at + 1;
}

/* Takes native frame `i` after the leaf. */
__noinline int perl_find_call(struct stack_scratch *s, struct runtime_scratch *notes,
			      struct perl_walk *w, __u32 i)
{
	bool is_catch;
	__u32 at;
	__u64 sp;

	if (!s || !notes || !w)
		return 0;
	at = s->kernel_depth + i;
	barrier_var(i);
	barrier_var(at);
	if (i >= USER_DEPTH_MAX || at >= DEPTH_MAX)
		return 0;
	sp = notes->sps[i];
	barrier_var(sp);
	is_catch = perl_take_native(w, native_code(s, i), sp);
	if (w->joins)
		perl_join_frame(s, notes, w, at, i, is_catch);
	return 1;
}

LOOP_CALLBACK(find_call, perl_loop, perl_find_call(loop->s, loop->notes, loop->w, i))

/* Finds the places of all calls of the loop. */
__noinline int perl_find_calls(struct stack_scratch *s, struct runtime_scratch *notes,
			       struct perl_walk *w)
{
	struct perl_loop loop = {.s = s, .notes = notes, .w = w};

	if (!s || !notes || !w)
		return 0;
	w->groups.call_count = w->since_call = w->has_main = w->catches = w->joined = 0;
	if (!(s->sample_flags & SAMPLE_LEAF_KERNEL))
		perl_take_native(w, s->leaf, s->top_sp);
	bpf_loop(s->user_depth, find_call, &loop, 0);
	if (w->joins)
		s->user_depth = w->joined;
	return w->groups.call_count;
}

/* Adds a frame. False: no room, or it is none. */
static __always_inline bool perl_add_frame(struct perl_walk *w, struct managed_scratch *m,
					   __u64 position)
{
	if (!position)
		w->torn = 1;
	else
		w->torn = add_frame(m, position, 0) ? 0 : 2;
	return !w->torn;
}

/* Ends the group. False: no room. */
static __always_inline bool perl_end_group(struct perl_walk *w, struct managed_scratch *m)
{
	if (w->skips) {
		w->skips--;
		m->count = 0;
		return true;
	}
	if (end_call_group(&w->groups, m))
		return true;
	w->torn = 2;
	return false;
}

/*
 * Ends the walk with the program's own code, unless all was called from C, as before and after the
 * program.
 */
static __always_inline void perl_take_main(struct perl_walk *w, struct managed_scratch *m)
{
	w->is_done = 1;
	if (m->count == m->group && !w->has_main)
		return;
	if (perl_add_frame(w, m, perl_file_position(w, &m->like, PERL_CODE_MAIN)))
		perl_end_group(w, m);
}

static __always_inline bool perl_is_sort(const struct perl_walk *w)
{
	return perl_half(w->stack, w->layout.stack_type, PERL_STACK_WORDS) == PERL_STACK_SORT;
}

static __always_inline bool perl_is_sub(__u64 flags)
{
	return (flags & PERL_CONTEXT_TYPE) == PERL_SUB;
}

/*
 * Nothing runs after the context that was read. Is it because C code has called it? Nothing follows
 * either on a call at the end of a block of sort(), or of code in a regular expression.
 */
static __always_inline bool perl_is_from_c(const struct perl_walk *w)
{
	if (w->index || w->ends_blocks)
		return true;
	return perl_is_sub(w->base) ? !(w->base & PERL_CONTEXT_REGEX) : !perl_is_sort(w);
}

/* Goes on with the next stack of contexts, further out. */
static __always_inline int perl_leave_stack(struct perl_walk *w, struct managed_scratch *m)
{
	__u64 outer = w->stack[PERL_STACK_OUTER];

	if (!outer) {
		perl_take_main(w, m);
		return 0;
	}
	/* A block that compares runs in a loop of its own, but is part of its sub. */
	if ((m->count > m->group || (perl_is_sort(w) && !perl_is_sub(w->base))) &&
	    !perl_end_group(w, m))
		return 0;
	w->torn = !perl_enter_stack(w, outer);
	return !w->torn;
}

/* Is the context one of code that is called? Blocks are part of others. */
static __always_inline bool perl_is_frame(__u64 flags)
{
	__u32 type = flags & PERL_CONTEXT_TYPE;

	return type == PERL_SUB || type == PERL_FORMAT ||
	       (type == PERL_EVAL && !(flags & PERL_CONTEXT_BLOCK));
}

/* Returns the position of the context's frame; POSITION_NONE if it is part of another. */
#define PERL_POSITION_NONE ~0ull
static __always_inline __u64 perl_context_position(struct perl_walk *w, const struct rec *like)
{
	__u64 flags = w->context[PERL_CONTEXT_FLAGS];
	__u32 type = flags & PERL_CONTEXT_TYPE;

	if (type == PERL_SUB && flags & PERL_CONTEXT_PART)
		return PERL_POSITION_NONE;
	if (type == PERL_SUB || type == PERL_FORMAT)
		return perl_code_position(
			w, like, perl_word(w->context, w->layout.context_code, PERL_CONTEXT_WORDS));
	if (perl_is_frame(flags))
		return perl_file_position(
			w, like,
			perl_word(w->context, w->layout.context_code - 8, PERL_CONTEXT_WORDS)
				? PERL_CODE_FILE
				: PERL_CODE_TEXT);
	return PERL_POSITION_NONE;
}

/*
 * Is the innermost context, which was read, one that is being entered, and has not been filled, or
 * that is being left? From 5.32 on the stack has the index of its innermost sub, before its type.
 */
static __always_inline bool perl_is_entered(const struct perl_walk *w)
{
	return w->is_innermost && perl_is_sub(w->context[PERL_CONTEXT_FLAGS]) &&
	       w->layout.stack_type == PERL_STACK_WORDS * 8 - 4 &&
	       (__s32)w->stack[PERL_STACK_WORDS - 1] != (__s32)w->index + 1;
}

/* Takes the next context. False: there are no more, or they cannot be followed. */
__noinline int perl_take_context(struct perl_walk *w, struct managed_scratch *m)
{
	__u64 position;

	if (!w || !m)
		return 0;
	if (w->index < 0)
		return perl_leave_stack(w, m);
	if (!perl_read_context(w)) {
		w->torn = 1;
		return 0;
	}
	w->index--;
	if ((w->context[PERL_CONTEXT_FLAGS] & PERL_CONTEXT_TYPE) == PERL_DEFER)
		return perl_end_group(w, m);
	if (perl_is_entered(w))
		return 1;
	position = perl_context_position(w, &m->like);
	if (position != PERL_POSITION_NONE && !perl_add_frame(w, m, position))
		return 0;
	if (!perl_is_frame(w->context[PERL_CONTEXT_FLAGS]))
		return 1;
	w->statement = w->context[PERL_CONTEXT_COP];
	w->is_innermost = 0;
	return w->context[PERL_CONTEXT_RETURN] || !perl_is_from_c(w) || perl_end_group(w, m);
}

LOOP_CALLBACK(take_context, perl_loop, perl_take_context(loop->w, loop->m))

/* Walks all contexts, and forgets the frames of the innermost groups. */
__noinline int perl_walk_contexts(struct perl_walk *w, struct managed_scratch *m, __u32 skips)
{
	struct perl_loop loop = {.w = w, .m = m};

	if (!w || !m)
		return 0;
	begin_groups(&w->groups, m);
	w->is_done = 0;
	w->skips = skips;
	w->statement = w->first_statement;
	w->is_innermost = 1;
	w->known_code = 0;
	w->torn = !perl_enter_stack(w, w->innermost);
	if (!w->torn)
		bpf_loop(PERL_CONTEXTS_MAX, take_context, &loop, 0);
	if (!w->is_done && !w->torn)
		w->torn = 2;
	end_groups(&w->groups, m, w->torn == 2);
	return w->torn != 1;
}

/*
 * Makes groups and calls fit: there are as many, but innermost there may be a group that does not
 * run, or a loop without one.
 */
static __always_inline bool perl_fit(struct stack_scratch *s, struct runtime_scratch *notes,
				     struct managed_scratch *m, struct perl_walk *w)
{
	w->keeps_catches = w->joins = w->ends_blocks = 0;
	perl_find_calls(s, notes, w);
	if (!perl_walk_contexts(w, m, 0))
		return false;
	if (w->groups.count < w->groups.call_count) {
		w->ends_blocks = 1;
		perl_walk_contexts(w, m, 0);
		if (w->groups.count > w->groups.call_count) {
			w->ends_blocks = 0;
			perl_walk_contexts(w, m, 0);
		}
	} else if (w->groups.count > w->groups.call_count && w->catches) {
		w->keeps_catches = 1;
		perl_find_calls(s, notes, w);
	}
	if (w->catches && !config.interpreter_frames) {
		w->joins = 1;
		perl_find_calls(s, notes, w);
	}
	return w->torn != 1;
}

/* Finds the frames, and their places. False: there are none, or they do not fit together. */
static __always_inline bool perl_capture(struct stack_scratch *s, struct runtime_scratch *notes,
					 struct managed_scratch *m, struct perl_walk *w)
{
	w->groups.first_call = 0;
	if (!perl_fit(s, notes, m, w))
		return false;
	/* The outermost are known only of a stack that is whole. */
	if (!w->torn && s->stack_flags & STACK_WHOLE) {
		if (w->groups.count > w->groups.call_count)
			perl_walk_contexts(w, m, w->groups.count - w->groups.call_count);
		else
			w->groups.first_call = w->groups.call_count - w->groups.count;
	}
	if (w->torn == 1)
		return false;
	place_groups(&w->groups, m, PLACE_BEYOND);
	return true;
}

/* A global function, because its caller's memory is short. */
__noinline bool perl_begin(struct stack_scratch *s, struct perl_walk *w)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct tracked_process *process = find_current(task);
	const struct runtime_layout *layout;

	if (!s || !w)
		return false;
	layout = layout_of(s, RUNTIME_PERL);
	if (!layout || !process)
		return false;
	w->layout = layout->perl;
	w->layout_number = s->space.runtimes[0].layout;
	w->bias = s->space.runtimes[0].bias;
	w->torn = 0;
	w->process = hash_process(s, task, process);
	return true;
}

/*
 * Adds the current thread's functions to the stack in s. Returns how many. `like`: the header of
 * its sample.
 */
static __always_inline __u32 perl_add_frames(struct stack_scratch *s, struct runtime_scratch *notes,
					     const struct rec *like)
{
	struct runtime_counters *count = own_runtime_counters(RUNTIME_PERL);
	struct managed_scratch *m = own_managed_scratch();
	struct perl_walk *w = own_perl_walk();

	if (!m || !w || !count)
		return 0;
	if (!perl_begin(s, w)) {
		count->missed++;
		return 0;
	}
	count->samples++;
	m->like = *like;
	m->process = 0; /* each call has a place of its own */
	m->foreign_sp = 0;
	m->count = 0;
	if (!perl_find_interpreter(w)) {
		count->threadless++;
	} else if (perl_capture(s, notes, m, w)) {
		place_walked(s, notes, m, w->torn, count);
	} else {
		count->torn++;
		m->count = 0;
	}
	note_walk(s, like, m->count, w->torn);
	return m->count;
}
