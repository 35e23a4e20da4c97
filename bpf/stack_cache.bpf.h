/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The table of sent stacks. Every stack is entered whole, and also without its innermost frames, so
 * that stacks with other inner frames can continue it.
 */
#pragma once

#include "bpf/stack_scratch.bpf.h"

/* CPUs write the two words without a lock, see stack_cache_find(). */
struct stack_cache_entry {
	__u64 hash;
	__u64 check; /* hash ^ (skip << SENT_SKIP_SHIFT | id) */
};

struct sent {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SENT_STACKS);
	__type(key, __u32);
	__type(value, struct stack_cache_entry);
};

struct sent sent SEC(".maps");

/*
 * Starts of the latest two epochs, in any order. User space replaces the older one by a future
 * time, so that every CPU sees it before its clock reaches it.
 */
extern __u64 stack_epochs[2];

/*
 * Returns the start of the epoch that contains the time. It is part of the hashes, so a record's
 * stack and the stacks that it continues were sent in the same epoch.
 */
static __always_inline __u64 stack_epoch(__u64 time)
{
	__u64 a = *(volatile __u64 *)&stack_epochs[0], b = *(volatile __u64 *)&stack_epochs[1];
	__u64 later = a > b ? a : b;

	return time >= later ? later : a > b ? b : a;
}

/* An entry's value: a stack id and, above it, the number of its innermost frames to skip. */
#define SENT_SKIP_SHIFT 32
#define SENT_BITS 43

static __always_inline struct stack_cache_entry *stack_cache_slot(__u64 hash)
{
	__u32 slot = hash % SENT_STACKS;

	return bpf_map_lookup_elem(&sent, &slot);
}

/*
 * Returns the value stored for the hash, or 0. Words from two different writers do not match and
 * count as not found.
 */
static __always_inline __u64 stack_cache_find(__u64 hash)
{
	struct stack_cache_entry *entry = stack_cache_slot(hash);
	__u64 found;

	if (!entry || entry->hash != hash)
		return 0;
	found = entry->check ^ hash;
	return found >> SENT_BITS ? 0 : found;
}

static __always_inline void stack_cache_set(__u64 hash, __u32 id, __u32 skip)
{
	struct stack_cache_entry *entry = stack_cache_slot(hash);

	if (!entry)
		return;
	entry->hash = hash;
	entry->check = hash ^ ((__u64)skip << SENT_SKIP_SHIFT | id);
}

static long hash_kernel_frame(__u32 i, void *ctx)
{
	struct stack_scratch *s = ((struct loop *)ctx)->s;

	if (i >= KERNEL_DEPTH_MAX)
		return 1;
	s->kernel_sum = sum_frame(s->kernel_sum, s->words[HEADER_WORDS + i], FRAME_KERNEL);
	return 0;
}

/* Hashes all frames and the other fields that distinguish stack records. */
static __always_inline __u64 hash_whole(struct stack_scratch *s)
{
	struct loop loop = {.s = s};

	s->kernel_sum = (__u64)s->kernel_depth << 32 | s->user_depth << 8 | s->stack_flags;
	s->kernel_sum += s->salt;
	/* The verifier follows every turn of a plain loop, hence bpf_loop. */
	bpf_loop(s->kernel_depth, hash_kernel_frame, &loop, 0);
	return mix_bits(mix_bits(s->kernel_sum) + s->sum) | 1;
}

#define SUM_BASE_2 (SUM_BASE * SUM_BASE)
#define SUM_BASE_4 (SUM_BASE_2 * SUM_BASE_2)
#define SUM_BASE_CUT (SUM_BASE_4 * SUM_BASE_4)
_Static_assert(STACK_CUT == 8, "SUM_BASE_CUT is SUM_BASE to that power");

/*
 * Part i of a stack is its STACK_CUT * (i + 1) outermost user frames, or all if there are fewer.
 * Returns the number of user frames inside it.
 */
static __always_inline __u32 frames_inside(const struct stack_scratch *s, __u32 i)
{
	__u32 depth = (i + 1) * STACK_CUT;

	return depth < s->user_depth ? s->user_depth - depth : 0;
}

static long cut_stack(__u32 i, void *ctx)
{
	struct stack_scratch *s = ((struct loop *)ctx)->s;
	__u32 inside = frames_inside(s, i);
	__u64 sum, found;

	s->power *= SUM_BASE_CUT;
	if (i >= CUTS_MAX)
		return 1;
	sum = s->sum - sum_of(s, inside) * s->power;
	sum = mix_bits(sum + s->salt + s->user_depth - inside) & ~1ull;
	s->split_points[i] = sum;
	if (s->is_new)
		return 0;
	found = stack_cache_find(sum);
	if (found) {
		s->outer = found;
		s->shared = s->user_depth - inside;
	} else {
		s->is_new = 1;
	}
	return 0;
}

/* Computes the hashes of the stack's parts, and finds the largest part already sent. */
static __always_inline void cut_stack_up(struct stack_scratch *s, __u32 split_points)
{
	struct loop loop = {.s = s};

	s->power = 1;
	s->outer = s->shared = s->is_new = 0;
	bpf_loop(split_points, cut_stack, &loop, 0);
}

static long note_cut(__u32 i, void *ctx)
{
	struct stack_scratch *s = ((struct loop *)ctx)->s;
	__u32 inside = frames_inside(s, i);

	if (i >= CUTS_MAX)
		return 1;
	if (s->user_depth - inside > s->shared)
		stack_cache_set(s->split_points[i], (__u32)s->outer, s->kernel_depth + inside);
	return 0;
}

/* Enters the stack's new parts as parts of stack `id`. */
static __always_inline void note_split_points(struct stack_scratch *s, __u32 split_points, __u32 id)
{
	struct loop loop = {.s = s};

	s->outer = id;
	bpf_loop(split_points, note_cut, &loop, 0);
}
