/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Stacks on their way into the ring: each is sent once, samples name it by its id. */
#ifndef PROF_BPF_SEND_BPF_H
#define PROF_BPF_SEND_BPF_H

#include "bpf/copy.bpf.h"
#include "bpf/ring.bpf.h"
#include "bpf/stack.bpf.h"

extern __u32 last_stack_id;
extern struct scratches scratches SEC(".maps");
extern struct sent sent SEC(".maps");

static __always_inline struct sent_stack *sent_slot(__u64 hash)
{
	__u32 slot = hash % SENT_STACKS;

	return bpf_map_lookup_elem(&sent, &slot);
}

/* Leaves only the innermost frames. False: there are no more. */
static __always_inline bool shorten(struct stack_scratch *s)
{
	__u32 kernel_depth = s->kernel_depth;

	if (kernel_depth + s->user_depth <= SHORT_STACK)
		return false;
	if (kernel_depth > SHORT_STACK)
		s->kernel_depth = kernel_depth = SHORT_STACK;
	s->user_depth = SHORT_STACK - kernel_depth;
	s->stack_flags &= STACK_USER_PC;
	s->stack_flags |= STACK_TRUNCATED;
	return true;
}

/*
 * The id of the stack in s, whose record is sent first if it has not been yet. A stack counts as
 * sent only once its record is in the ring. 0: no room.
 */
static __always_inline __u32 send_stack(struct stack_scratch *s, const struct rec *like, void *ring,
					struct bpf_counters *count)
{
	__u64 hash = hash_stack(s);
	struct sent_stack *entry = sent_slot(hash);
	__u32 id = entry ? sent_find(entry, hash) : 0, size;

	if (!id && is_filling(ring) && shorten(s)) {
		hash = hash_stack(s);
		entry = sent_slot(hash);
		id = entry ? sent_find(entry, hash) : 0;
	}
	if (id || !entry)
		return id;
	id = __sync_fetch_and_add(&last_stack_id, 1) + 1;
	size = finish_stack(s, like, id);
	if (!size || size > sizeof(s->words) ||
	    bpf_ringbuf_output(ring, s->words, size, BPF_RB_NO_WAKEUP))
		return 0;
	__sync_fetch_and_add(&count->written_bytes, size);
	sent_set(entry, hash, id);
	return id;
}

/*
 * Sends what lies below the leaf, and completes the sample. False: there was no room. Copies may
 * take copy_bytes in a window.
 */
static __always_inline bool place_stack(struct task_struct *task, struct stack_scratch *s,
					struct rec_sample *sample, void *ring,
					struct bpf_counters *count, __u32 copy_bytes)
{
	sample->rec.flags = s->sample_flags;
	sample->leaf = s->leaf;
	sample->stack_id = 0;
	if (s->stack_flags & STACK_UNKNOWN && config.copy_bytes && !is_filling(ring))
		sample->stack_id = send_copy(task, s, &sample->rec, ring, count, copy_bytes,
					     __sync_fetch_and_add(&last_stack_id, 1) + 1);
	if (!sample->stack_id && !(s->sample_flags & SAMPLE_NO_STACK))
		sample->stack_id = send_stack(s, &sample->rec, ring, count);
	return sample->stack_id || s->sample_flags & SAMPLE_NO_STACK;
}

#endif
