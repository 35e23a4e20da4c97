/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Puts the frames of a runtime into the stack. */
#ifndef PROF_BPF_RUNTIMES_MERGE_BPF_H
#define PROF_BPF_RUNTIMES_MERGE_BPF_H

#include "bpf/runtime.bpf.h"
#include "bpf/runtime_merge.h"
#include "bpf/stack_scratch.bpf.h"

struct merged_stack {
	struct merge merge;
	__u32 depth;
	__u64 addrs[USER_DEPTH_MAX];
	__u8 kinds[USER_DEPTH_MAX];
};

struct merged_stacks {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct merged_stack);
};

struct merged_stacks merged_stacks SEC(".maps");

struct merge_loop {
	struct stack_scratch *s;
	struct runtime_scratch *m;
	struct merged_stack *to;
};

/* Stores the next frame. False: no room. */
static __always_inline bool put_frame(struct stack_scratch *s, struct merged_stack *to, __u64 addr,
				      __u8 kind)
{
	__u32 out = to->depth;

	/* Older verifiers forget the bounds of a number that is put aside. */
	barrier_var(out);
	if (out >= USER_DEPTH_MAX)
		return false;
	to->addrs[out] = addr;
	to->kinds[out] = kind;
	s->sums[out] = s->sum = sum_frame(s->sum, addr, kind);
	to->depth = out + 1;
	return true;
}

/* Takes the next frame of both. */
static __always_inline bool merge_frame(struct stack_scratch *s, struct runtime_scratch *m,
					struct merged_stack *to)
{
	__u32 native = to->merge.native, managed = to->merge.managed;
	__u32 next = native + 1, after = managed + 1, at = s->kernel_depth + native;
	__u64 sp, end, place = 0, next_place = 0, addr;
	enum merge_step step;
	__u8 kind;

	if (native >= USER_DEPTH_MAX || managed > MANAGED_MAX || at >= DEPTH_MAX)
		return false;
	sp = m->sps[native];
	/* Beyond the last frame of a stack that is whole, nothing follows. */
	end = s->stack_flags & STACK_WHOLE ? ~0ull : 0;
	if (next < to->merge.native_count && next < USER_DEPTH_MAX)
		end = m->sps[next];
	if (managed < MANAGED_MAX && managed < to->merge.managed_count)
		place = m->frames[managed].place;
	if (after < MANAGED_MAX)
		next_place = m->frames[after].place;
	step = merge_step(&to->merge, sp, end, place);
	if (step == MERGE_END)
		return false;
	if (step != MERGE_NOTHING) {
		if (step == MERGE_NATIVE) {
			addr = s->words[HEADER_WORDS + at];
			kind = s->kinds[at];
		} else {
			if (managed >= MANAGED_MAX)
				return false;
			addr = m->frames[managed].position;
			kind = FRAME_MANAGED;
		}
		if (!put_frame(s, to, addr, kind))
			return false;
	}
	merge_advance(&to->merge, step, sp, end, place, next_place);
	return true;
}

__noinline int merge_turn(struct stack_scratch *s, struct runtime_scratch *m,
			  struct merged_stack *to)
{
	return s && m && to && merge_frame(s, m, to);
}

static long merge_next(__u32 i, void *ctx)
{
	struct merge_loop *loop = ctx;
	int more = merge_turn(loop->s, loop->m, loop->to);

	/* As in unwind_turn(). */
	barrier_var(more);
	return more ? 0 : 1;
}

/* Puts the first frame in the place of the leaf, which runs it. */
static __always_inline void replace_leaf(struct stack_scratch *s, struct runtime_scratch *m,
					 struct merged_stack *to)
{
	s->leaf = m->frames[0].position;
	s->sample_flags |= SAMPLE_LEAF_MANAGED;
	to->merge.managed = 1;
	to->merge.in_group = m->count > 1 && !m->frames[1].place;
}

/* Puts the frames into the stack. Returns how many are left over. */
__noinline int merge_frames(struct stack_scratch *s, struct runtime_scratch *m)
{
	struct merge_loop loop = {.s = s, .m = m};
	struct merged_stack *to;
	__u32 zero = 0, depth, kernel_depth;
	__u64 end;

	to = bpf_map_lookup_elem(&merged_stacks, &zero);
	if (!s || !m || !to)
		return 0;
	loop.to = to;
	to->depth = 0;
	to->merge.native_count = s->user_depth;
	to->merge.managed_count = m->count;
	to->merge.keeps_interpreter = config.interpreter_frames;
	end = s->user_depth ? m->sps[0] : s->stack_flags & STACK_WHOLE ? ~0ull : 0;
	merge_begin(&to->merge, s->sample_flags & SAMPLE_LEAF_KERNEL ? ~0ull : s->top_sp, end,
		    m->frames[0].place);
	if (to->merge.leaf_replaced)
		replace_leaf(s, m, to);
	s->sum = 0;
	bpf_loop(USER_DEPTH_MAX + MANAGED_MAX, merge_next, &loop, 0);
	depth = to->depth;
	kernel_depth = s->kernel_depth;
	if (to->merge.native < s->user_depth || to->merge.in_group) {
		s->stack_flags |= STACK_TRUNCATED;
		s->stack_flags &= ~(STACK_WHOLE | STACK_BROKEN);
	}
	if (depth > USER_DEPTH_MAX || kernel_depth > KERNEL_DEPTH_MAX)
		return 0;
	bpf_probe_read_kernel(s->words + HEADER_WORDS + kernel_depth, depth * 8, to->addrs);
	bpf_probe_read_kernel(s->kinds + kernel_depth, depth, to->kinds);
	s->user_depth = depth;
	return m->count - to->merge.managed;
}

#endif
