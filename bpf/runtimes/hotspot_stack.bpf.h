/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Walks on from the first frame of a JVM's own code, through its frames and native ones, to the
 * root. Its frames are put into the stack as they are met.
 */
#ifndef PROF_BPF_RUNTIMES_HOTSPOT_STACK_BPF_H
#define PROF_BPF_RUNTIMES_HOTSPOT_STACK_BPF_H

#include "bpf/runtimes/hotspot_first_seen.bpf.h"
#include "bpf/runtimes/hotspot_returned.bpf.h"

struct hotspot_loop {
	struct stack_scratch *s;
	struct hotspot_run *r;
};

/* Replaces the address of the frame that was entered last, or the leaf's. */
static __always_inline void hotspot_name_frame(struct stack_scratch *s, __u64 position)
{
	__u32 depth = s->user_depth, last = depth - 1, at = s->kernel_depth + last;

	barrier_var(last); /* as in sum_of() */
	barrier_var(at);
	if (!depth) {
		s->leaf = position;
		s->sample_flags |= SAMPLE_LEAF_MANAGED;
	} else if (last < USER_DEPTH_MAX && at < DEPTH_MAX) {
		s->words[HEADER_WORDS + at] = position;
		s->kinds[at] = FRAME_MANAGED;
		s->sums[last] = s->sum = sum_frame(sum_of(s, last), position, FRAME_MANAGED);
	}
}

/* Steps from a frame of the JVM's. 0: the stack has ended, s->stack_flags says how. */
static __always_inline int hotspot_step_frame(struct stack_scratch *s, struct hotspot_run *r)
{
	int is_interpreter, is_entry, has_registers, has_stepped;
	__u64 rbx, r13;

	if (!hotspot_find_blob(&r->walk, s->frame.pc - !s->frame.is_pc)) {
		s->stack_flags |= STACK_BROKEN;
		r->walk.found.units = 0;
		return 0;
	}
	has_registers = hotspot_has_registers(&s->frame);
	is_entry = hotspot_is_entry(&s->frame, &r->walk);
	is_interpreter = r->walk.kind == HOTSPOT_BLOB_INTERPRETER;
	rbx = has_registers && is_entry ? s->frame.other[HOTSPOT_RBX] : 0;
	r13 = has_registers && !is_entry ? s->frame.other[HOTSPOT_R13] : 0;
	hotspot_note(&s->frame, &r->walk);
	r->walk.has_no_frame = r->walk.is_plain = 0;
	has_stepped = hotspot_step(&s->frame, &r->walk);
	if (is_interpreter)
		hotspot_note_interpreted(&r->walk, rbx, r13);
	else if (r->walk.has_no_frame && r->walk.found.function == HOTSPOT_COMPILED)
		r->walk.found.unit = r->walk.found.units - 1;
	if (!has_stepped)
		s->stack_flags |= STACK_BROKEN;
	return has_stepped;
}

__noinline int hotspot_turn(struct stack_scratch *s, struct hotspot_run *r)
{
	__u64 pc, position;
	int has_stepped = 1;
	bool was_top;

	if (!s || !r)
		return 0;
	pc = s->frame.pc;
	was_top = s->frame.is_pc;
	if (!hotspot_is_code(&r->walk, pc))
		return unwind_frame(s);
	position = hotspot_step_known(s, r);
	if (!position) {
		has_stepped = hotspot_step_frame(s, r);
		position = r->walk.found.units ? hotspot_position(r, &r->like) : RUNTIME_HOTSPOT;
		if (r->walk.is_plain && !was_top)
			hotspot_keep_return(r, pc, position);
	}
	hotspot_name_frame(s, position);
	r->frames++;
	return has_stepped && unwind_push(s, FRAME_NATIVE);
}

static long hotspot_next(__u32 i, void *ctx)
{
	struct hotspot_loop *loop = ctx;
	int more = hotspot_turn(loop->s, loop->r);

	/* As in unwind_turn(). */
	barrier_var(more);
	return more ? 0 : 1;
}

/* User space walks a copy of the stack, from the leaf on: it finds none of the JVM's frames. */
static __always_inline void hotspot_abandon(struct stack_scratch *s)
{
	if (!(s->sample_flags & SAMPLE_LEAF_MANAGED))
		return;
	s->leaf = s->top_pc;
	s->sample_flags &= ~SAMPLE_LEAF_MANAGED;
}

/* A global function, because its caller's memory is short. */
__noinline bool hotspot_begin(struct stack_scratch *s, struct hotspot_run *r,
			      const struct rec *like)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct tracked_process *process = find_current(task);
	struct hotspot_process *vm;
	struct runtime_layout *layout;
	__u32 number, pid;

	if (!s || !r || !like)
		return false;
	number = s->space.layout;
	pid = like->pid;
	layout = bpf_map_lookup_elem(&runtime_layouts, &number);
	vm = bpf_map_lookup_elem(&runtime_processes, &pid);
	if (!layout || layout->kind != RUNTIME_HOTSPOT || !process || !vm ||
	    vm->execs != s->space.execs)
		return false;
	/* Fewer instructions to verify than assignments have. */
	if (bpf_probe_read_kernel(&r->walk.layout, sizeof(r->walk.layout), &layout->hotspot) ||
	    bpf_probe_read_kernel(&r->walk.vm, sizeof(r->walk.vm), vm))
		return false;
	r->layout_number = number;
	r->process = mix_bits(process->start + mix_bits(task->tgid + ((__u64)vm->execs << 32)));
	r->like = *like;
	r->stubs = layout->hotspot.stubs ? layout->hotspot.stubs + s->space.runtime_bias : 0;
	r->frames = 0;
	return true;
}

/*
 * Walks on in the stack in s. Returns how many frames are the JVM's. `like`: the header of its
 * sample.
 */
static __always_inline __u32 hotspot_add_frames(struct stack_scratch *s,
						struct runtime_scratch *notes,
						const struct rec *like)
{
	struct runtime_counters *count = own_runtime_counters();
	struct hotspot_run *r = own_hotspot_run();
	struct hotspot_loop loop = {.s = s, .r = r};

	if (!r || !count)
		return 0;
	/* From here on, native code without rules is walked as in other processes. */
	s->runtime = RUNTIME_NONE;
	if (!hotspot_begin(s, r, like)) {
		count->missed++;
		return 0;
	}
	count->samples++;
	s->stack_flags &= ~STACK_BROKEN;
	bpf_loop(s->depth_limit ? s->depth_limit : USER_DEPTH_MAX, hotspot_next, &loop, 0);
	if (!(s->stack_flags & (STACK_WHOLE | STACK_BROKEN | STACK_UNKNOWN)))
		cut_off(s);
	if (s->stack_flags & STACK_UNKNOWN) {
		hotspot_abandon(s);
		count->copied++;
	} else if (s->stack_flags & STACK_BROKEN) {
		count->torn++;
	} else {
		count->whole++;
	}
	end_stack(s);
	return r->frames;
}

#endif
