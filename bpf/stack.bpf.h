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
#include "bpf/unwind.h"

extern const volatile struct bpf_config config;

#if defined(__TARGET_ARCH_arm64)
#define IS_ARM64 1
#else
#define IS_ARM64 0
#endif

#define walk_read_user(frame, to, addr, size) bpf_probe_read_user(to, size, (const void *)(addr))
#define walk_is_arm64(frame) IS_ARM64
#define walk_pc_mask(frame) (IS_ARM64 ? config.user_pc_mask : ~0ull)
#include "bpf/walk.h"

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
	__u8 kinds[KIND_WORDS * 8]; /* enum frame_kind of each address */
	/* What gather_stack() found. */
	__u64 leaf;
	__u32 kernel_depth, user_depth; /* without the leaf */
	__u8 sample_flags, stack_flags;
	/* The task that was sampled here last, see task_cpu_time(). */
	__u32 last_pid;
	__u64 last_start, last_switches, last_time, last_cpu_time;
	/* The walker's. */
	bpf_user_pt_regs_t regs;
	struct walk_frame frame;
	__u64 top_pc, top_sp; /* where the walk began */
	struct unwind_space space;
	struct unwind_mapping mapping; /* the one that was found last */
	struct unwind_rule rule;
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

/* Makes s a stack record with that id; returns its size in bytes. The kinds' padding is arbitrary.
 */
static __always_inline __u32 finish_stack(struct stack_scratch *s, const struct rec *like, __u32 id)
{
	struct rec_stack *rec = (struct rec_stack *)s->words;
	__u32 kernel_depth = s->kernel_depth;
	__u32 depth = kernel_depth + s->user_depth;
	__u32 kind_size;

	if (depth > DEPTH_MAX || kernel_depth > KERNEL_DEPTH_MAX)
		return 0;
	kind_size = (depth + 7) & ~7u;
	bpf_probe_read_kernel(s->words + HEADER_WORDS + depth, kind_size, s->kinds);
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
