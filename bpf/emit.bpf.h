/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Puts records into this CPU's ring and counts them. */
#ifndef PROF_BPF_EMIT_BPF_H
#define PROF_BPF_EMIT_BPF_H

#include "bpf/ring.bpf.h"

/*
 * Reserves a record in `ring` and counts its bytes; the caller must submit it. NULL if `ring` is
 * NULL or has no room, which the caller counts.
 */
static __always_inline void *emit_reserve(struct bpf_counters *count, void *ring, __u8 kind,
					  const __u32 size, __u64 time)
{
	struct rec *rec = ring ? bpf_ringbuf_reserve(ring, size, 0) : NULL;

	if (!rec)
		return NULL;
	rec_init(rec, kind, size, time);
	__sync_fetch_and_add(&count->written_bytes, size);
	return rec;
}

/*
 * Reserves a record that is not a sample, with the current time. NULL if there is no room, counted
 * as a lost event.
 */
static __always_inline void *emit_reserve_event(__u8 kind, const __u32 size)
{
	struct bpf_counters *count = own_counters();
	void *rec;

	if (!count)
		return NULL;
	rec = emit_reserve(count, own_ring(), kind, size, bpf_ktime_get_ns());
	if (!rec)
		__sync_fetch_and_add(&count->lost_events, 1);
	return rec;
}

/* `flags`: BPF_RB_NO_WAKEUP, or BPF_RB_FORCE_WAKEUP if user space must read the record at once. */
static __always_inline void emit_submit(void *rec, __u64 flags)
{
	bpf_ringbuf_submit(rec, flags);
}

/* Copies a record into the ring and counts its bytes. False: no room. */
static __always_inline bool emit_output(struct bpf_counters *count, void *ring, void *rec,
					__u32 size, __u64 flags)
{
	if (bpf_ringbuf_output(ring, rec, size, flags))
		return false;
	__sync_fetch_and_add(&count->written_bytes, size);
	return true;
}

#endif
