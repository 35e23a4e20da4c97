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

/*
 * The id of the stack in s, whose record is sent first if it has not been yet. A stack counts as
 * sent only once its record is in the ring. 0: no room.
 */
static __always_inline __u32 send_stack(struct stack_scratch *s, const struct rec *like, void *ring,
					struct bpf_counters *count)
{
	__u64 hash = hash_stack(s);
	__u32 slot = hash % SENT_STACKS, id, size;
	struct sent_stack *entry = bpf_map_lookup_elem(&sent, &slot);

	if (!entry)
		return 0;
	id = sent_find(entry, hash);
	if (id)
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
	if (s->stack_flags & STACK_UNKNOWN && config.copy_bytes)
		sample->stack_id = send_copy(task, s, &sample->rec, ring, count, copy_bytes,
					     __sync_fetch_and_add(&last_stack_id, 1) + 1);
	if (!sample->stack_id && !(s->sample_flags & SAMPLE_NO_STACK))
		sample->stack_id = send_stack(s, &sample->rec, ring, count);
	return sample->stack_id || s->sample_flags & SAMPLE_NO_STACK;
}

#endif
