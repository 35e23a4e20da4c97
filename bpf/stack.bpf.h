/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Kernel and user stack of the current task as the body of a stack record, and the table that
 * remembers which ones were sent.
 */
#ifndef PROF_BPF_STACK_BPF_H
#define PROF_BPF_STACK_BPF_H

#include "bpf/config.h"
#include "bpf/kernel.h"
#include "bpf/record.h"

#define DEPTH_MAX (KERNEL_DEPTH_MAX + USER_DEPTH_MAX)
#define HEADER_WORDS (sizeof(struct rec_stack) / 8)
#define KIND_WORDS ((DEPTH_MAX + 7) / 8)

/*
 * A stack record under construction. The leaf is no part of it, but the helper stores the leaf just
 * before the return addresses: it lands in the last word of the header, which is written
 * afterwards.
 */
struct stack_scratch {
	__u64 words[HEADER_WORDS + DEPTH_MAX + KIND_WORDS];
	/* What gather_stack() found. */
	__u64 leaf;
	__u32 kernel_depth, user_depth; /* without the leaf */
	__u8 sample_flags, stack_flags;
	/* The task that was sampled here last, see task_cpu_time(). */
	__u32 last_pid;
	__u64 last_start, last_switches, last_time, last_cpu_time;
};

/* Entry of the table of sent stacks, which CPUs write without a lock: see sent_find(). */
struct sent_stack {
	__u64 hash;
	__u64 check; /* hash ^ id */
};

struct scratches {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct stack_scratch);
};

struct sent {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SENT_STACKS);
	__type(key, __u32);
	__type(value, struct sent_stack);
};

extern const volatile struct bpf_config config;

/* A kind for each frame: as many kernel ones as the stack has, then user ones. */
static const volatile __u8 frame_kinds[DEPTH_MAX + 8] = {
	[0 ... KERNEL_DEPTH_MAX - 1] = FRAME_KERNEL,
};

/* Stores up to `count` addresses at words[at]; returns how many. */
#define get_stack(ctx, s, at, count, flags) \
	({ \
		long size_ = bpf_get_stack(ctx, (s)->words + (at), (count)*8, flags); \
		size_ > 0 ? (__u32)size_ / 8 : 0; \
	})

static __always_inline void gather_kernel(struct bpf_perf_event_data *ctx, struct stack_scratch *s)
{
	__u32 count = get_stack(ctx, s, HEADER_WORDS - 1, KERNEL_DEPTH_MAX + 1, 0);

	if (!count)
		return;
	s->leaf = s->words[HEADER_WORDS - 1];
	s->kernel_depth = count - 1;
	s->sample_flags |= SAMPLE_LEAF_KERNEL;
	s->stack_flags |= STACK_USER_PC;
}

static __always_inline void gather_user(struct bpf_perf_event_data *ctx, struct stack_scratch *s)
{
	__u32 depth = s->kernel_depth, count;

	if (depth > KERNEL_DEPTH_MAX)
		return;
	if (s->sample_flags & SAMPLE_LEAF_KERNEL) {
		count = get_stack(ctx, s, HEADER_WORDS + depth, USER_DEPTH_MAX, BPF_F_USER_STACK);
		s->user_depth = count;
	} else {
		count = get_stack(ctx, s, HEADER_WORDS - 1, USER_DEPTH_MAX, BPF_F_USER_STACK);
		s->leaf = s->words[HEADER_WORDS - 1];
		s->user_depth = count ? count - 1 : 0;
	}
	if (count && count >= config.stack_limit)
		s->stack_flags |= STACK_TRUNCATED;
}

/* Fills s with the stack of the interrupted task. */
static __always_inline void gather_stack(struct bpf_perf_event_data *ctx, struct task_struct *task,
					 struct stack_scratch *s)
{
	__u64 pc = PT_REGS_IP(&ctx->regs);

	s->kernel_depth = s->user_depth = 0;
	s->sample_flags = s->stack_flags = 0;
	s->leaf = 0;
	/* Kernel addresses are the upper half: their sign tells, on all kernels alike. */
	if ((__s64)pc < 0)
		gather_kernel(ctx, s);
	if (task->flags & PF_KTHREAD)
		s->sample_flags |= SAMPLE_KERNEL_THREAD;
	else
		gather_user(ctx, s);
	if (task->flags & PF_EXITING)
		s->sample_flags |= SAMPLE_EXITING;
	if (!s->leaf && pc) {
		s->leaf = pc;
		if ((__s64)pc < 0)
			s->sample_flags |= SAMPLE_LEAF_KERNEL;
	}
	if (!s->leaf)
		s->sample_flags |= SAMPLE_NO_LEAF;
	if (!s->kernel_depth && !s->user_depth)
		s->sample_flags |= SAMPLE_NO_STACK;
}

struct hashing {
	const struct stack_scratch *stack;
	__u64 hash;
};

static long hash_word(__u32 i, void *ctx)
{
	struct hashing *h = ctx;

	if (i >= DEPTH_MAX)
		return 1;
	h->hash = (h->hash ^ h->stack->words[HEADER_WORDS + i]) * 0xd6e8feb86659fd93ull;
	h->hash ^= h->hash >> 32;
	return 0;
}

/*
 * Of the addresses below the leaf, and of what else tells two stack records apart. By bpf_loop: the
 * verifier follows a plain loop through every turn, which takes longer than all other loading.
 */
static __always_inline __u64 hash_stack(const struct stack_scratch *s)
{
	__u64 seed = (__u64)s->kernel_depth << 32 | s->user_depth << 8 | s->stack_flags;
	struct hashing h = {.stack = s, .hash = seed};

	bpf_loop(s->kernel_depth + s->user_depth, hash_word, &h, 0);
	return h.hash ? h.hash : 1;
}

/*
 * The id under which a stack with this hash was sent, or 0. CPUs write the two words of an entry
 * without a lock; words of two different writers do not fit together, and then it is just not
 * found.
 */
static __always_inline __u32 sent_find(const struct sent_stack *entry, __u64 hash)
{
	__u64 id = entry->check ^ hash;

	return entry->hash == hash && id >> 32 == 0 ? (__u32)id : 0;
}

static __always_inline void sent_set(struct sent_stack *entry, __u64 hash, __u32 id)
{
	entry->hash = hash;
	entry->check = hash ^ id;
}

/* Makes s a stack record with that id; returns its size in bytes. */
static __always_inline __u32 finish_stack(struct stack_scratch *s, const struct rec *like, __u32 id)
{
	struct rec_stack *rec = (struct rec_stack *)s->words;
	__u32 kernel_depth = s->kernel_depth;
	__u32 depth = kernel_depth + s->user_depth;
	__u32 kind_size;

	if (depth > DEPTH_MAX || kernel_depth > KERNEL_DEPTH_MAX)
		return 0;
	kind_size = (depth + 7) & ~7u;
	bpf_probe_read_kernel(s->words + HEADER_WORDS + depth, kind_size,
			      (const void *)frame_kinds + KERNEL_DEPTH_MAX - kernel_depth);
	rec->rec = *like;
	rec->rec.kind = REC_STACK;
	rec->rec.flags = s->stack_flags;
	rec->rec.weight = 0;
	rec->rec.words = HEADER_WORDS + depth + kind_size / 8;
	rec->stack_id = id;
	rec->kernel_depth = kernel_depth;
	rec->user_depth = s->user_depth;
	return rec->rec.words * 8u;
}

#endif
