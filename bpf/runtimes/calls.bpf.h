/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The C frames of an interpreter, learnt from those that hold frames of the runtime. One that is
 * further out than all of the thread's frames runs another chain: greenlets have a chain each, but
 * lie on the stack of the one that made them, whose frames may be stale. The stack ends before.
 */
#ifndef PROF_BPF_RUNTIMES_CALLS_BPF_H
#define PROF_BPF_RUNTIMES_CALLS_BPF_H

#include "bpf/runtimes/managed.bpf.h"
#include "bpf/stack_scratch.bpf.h"

#define CALL_SHAPES 256 /* a power of two */
#define CALLS_MAX (1 << 10) /* a power of two */
#define SHAPE_VOTES_MAX 64
#define SHAPE_VOTES_MIN 4

/*
 * Distance from the place of a group to the end of its C frame: a constant of the interpreter's
 * build. Frames may be placed wrongly while a greenlet is switched to, so most must agree.
 */
struct call_shape {
	__u64 process;
	__u64 distance;
	__u64 votes;
};

struct call_shapes {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CALL_SHAPES);
	__type(key, __u32);
	__type(value, struct call_shape);
};

/* Hashes of return addresses in such frames. */
struct calls {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CALLS_MAX);
	__type(key, __u32);
	__type(value, __u64);
};

struct call_shapes call_shapes SEC(".maps");
struct calls calls SEC(".maps");

/* Has the C frame the interpreter's shape? Votes for its own. */
static __always_inline bool has_call_shape(__u64 process, __u64 distance)
{
	__u32 slot = process & (CALL_SHAPES - 1);
	struct call_shape *shape = bpf_map_lookup_elem(&call_shapes, &slot);

	if (!shape)
		return false;
	if (shape->process != process || !shape->votes) {
		shape->process = process;
		shape->distance = distance;
		shape->votes = 1;
		return false;
	}
	if (shape->distance != distance) {
		shape->votes--;
		return false;
	}
	if (shape->votes < SHAPE_VOTES_MAX)
		shape->votes++;
	return shape->votes > SHAPE_VOTES_MIN;
}

static __always_inline __u64 *call_slot(__u64 hash)
{
	__u32 slot = hash >> 32 & (CALLS_MAX - 1);

	return bpf_map_lookup_elem(&calls, &slot);
}

/* Learns from the native frame at `addr`, which ends at `end` and holds `place`. */
__noinline int learn_call(struct managed_scratch *m, __u64 addr, __u64 place, __u64 end)
{
	__u64 hash, *known;

	if (!m || !m->process || !has_call_shape(m->process, (end & ~1ull) - place))
		return 0;
	hash = mix_bits(addr ^ m->process);
	known = call_slot(hash);
	if (known)
		*known = hash;
	return 0;
}

/* Runs the native frame at `addr`, which holds no group, another chain? */
static __always_inline bool is_foreign_call(struct managed_scratch *m, __u64 addr)
{
	__u64 hash, *known;

	if (!m->process || !m->placed_depth)
		return false;
	hash = mix_bits(addr ^ m->process);
	known = call_slot(hash);
	return known && *known == hash;
}

/* Is the native frame at `sp` known to run another chain? */
static __always_inline bool is_foreign_place(const struct managed_scratch *m, __u64 sp)
{
	return m->foreign_sp && m->placed_depth && m->foreign_sp == (sp & ~1ull);
}

#endif
