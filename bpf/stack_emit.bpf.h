/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sends stacks into the ring: each once; samples refer to it by id. */
#pragma once

#include "bpf/copy.bpf.h"
#include "bpf/emit.bpf.h"
#include "bpf/stack_cache.bpf.h"
#include "bpf/stack_scratch.bpf.h"

extern __u32 last_stack_id;

static __always_inline __u32 new_stack_id(void)
{
	return __sync_fetch_and_add(&last_stack_id, 1) + 1;
}

/* Keeps only the innermost SHORT_STACK frames. Returns false if there are no more than that. */
static __always_inline bool shorten(struct stack_scratch *s)
{
	__u32 kernel_depth = s->kernel_depth, user_depth;

	if (kernel_depth + s->user_depth <= SHORT_STACK)
		return false;
	if (kernel_depth > SHORT_STACK)
		s->kernel_depth = kernel_depth = SHORT_STACK;
	s->user_depth = user_depth = SHORT_STACK - kernel_depth;
	s->sum = sum_of(s, user_depth);
	s->stack_flags &= STACK_USER_PC;
	s->stack_flags |= STACK_TRUNCATED;
	return true;
}

/*
 * Emits the frames of s that no earlier stack record contains. Returns the stack's id, 0 if the
 * ring is full.
 */
__noinline int emit_new_stack(struct stack_scratch *s, __u64 hash)
{
	struct rec_stack *rec = (struct rec_stack *)s->words;
	struct bpf_counters *count = own_counters();
	void *ring = own_ring();
	__u32 split_points, size, id;

	if (!s || !count || !ring)
		return 0;
	split_points = (s->user_depth + STACK_CUT - 1) / STACK_CUT;
	cut_stack_up(s, split_points);
	size = pack_stack(s);
	if (!size)
		return 0;
	barrier_var(size); /* as in sum_of() */
	if (size > sizeof(s->words))
		return 0;
	rec->stack_id = id = new_stack_id();
	rec->prefix_id = (__u32)s->outer;
	rec->prefix_skip = s->outer >> SENT_SKIP_SHIFT;
	if (!emit_output(count, ring, s->words, size, BPF_RB_NO_WAKEUP))
		return 0;
	/* Only a stack whose record is in the ring counts as sent. */
	stack_cache_set(hash, id, 0);
	note_split_points(s, split_points, id);
	return id;
}

/*
 * Returns the id of the stack in s, whose head is in s->like, after sending it if it is new. 0: no
 * room.
 */
static __always_inline __u32 emit_stack(struct stack_scratch *s, void *ring)
{
	__u64 hash;
	__u32 id;

	s->salt = stack_epoch(s->like.time);
	hash = hash_whole(s);
	id = stack_cache_find(hash);
	if (!id && is_filling(ring) && shorten(s)) {
		hash = hash_whole(s);
		id = stack_cache_find(hash);
	}
	return id ? id : emit_new_stack(s, hash);
}

/*
 * Sends the leaf's callers and completes the sample. False: no room. Copies may take `copy_bytes`
 * per window. A global function, so the verifier checks it once for all callers.
 */
__noinline bool place_stack(struct stack_scratch *s, struct rec_sample *sample, __u32 copy_bytes)
{
	void *ring = own_ring();

	if (!s || !sample || !ring)
		return false;
	sample->rec.flags = s->sample_flags;
	sample->leaf = s->leaf;
	sample->stack_id = 0;
	s->like = sample->rec;
	if (s->stack_flags & STACK_UNKNOWN && config.copy_bytes && !is_filling(ring))
		sample->stack_id = send_copy(s, copy_bytes, new_stack_id());
	if (!sample->stack_id && !(s->sample_flags & SAMPLE_NO_STACK))
		sample->stack_id = emit_stack(s, ring);
	return sample->stack_id || s->sample_flags & SAMPLE_NO_STACK;
}
