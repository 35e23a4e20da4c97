/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Puts records into this CPU's ring and counts them. Rings have a lock, and an NMI (a tick of the
 * hardware counter) may interrupt a program that holds it. Kernels before 6.15 then refuse at once,
 * later ones after spinning for 1 to 2 ms. So a writer sets a mark; a program that interrupts it
 * puts its records aside, and the writer sends them afterwards. Two kinds of programs are too close
 * to a verifier limit for that: those that define EMIT_LEAVES_ASIDE leave sending to the next
 * writer; those that define EMIT_PLAINLY write rarely and do not even set the mark.
 */
#pragma once

#include "bpf/aside.bpf.h"
#include "bpf/ring.bpf.h"

/*
 * Reserves a record in `ring` and counts its bytes; the caller must submit it. Returns NULL if
 * `ring` is NULL or full, which the caller counts. Reserved records cannot be put aside: a tick
 * that interrupts the writer gets no room either.
 */
static __always_inline void *emit_reserve(struct bpf_counters *count, void *ring, __u8 kind,
					  const __u32 size, __u64 time)
{
	__u64 task = bpf_get_current_task();
	struct aside *aside = own_aside();
	struct rec *rec;

	if (!ring || !aside || aside->writer == task)
		return NULL;
	aside->writer = task;
	barrier();
	rec = bpf_ringbuf_reserve(ring, size, 0);
	barrier();
	aside->writer = 0;
	if (!rec)
		return NULL;
	rec_init(rec, kind, size, time);
	__sync_fetch_and_add(&count->written_bytes, size);
	return rec;
}

/*
 * Reserves a record other than a sample, with the current time. Returns NULL if there is no room,
 * and counts a lost event.
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

/*
 * Sends the records put aside as one entry of the ring. Those put aside meanwhile, and all if the
 * ring is full, stay for the next call.
 */
__noinline int send_aside(void);

/* Returns 0; other values: no room. */
static __always_inline long write_or_put_aside(void *ring, void *rec, __u32 size, __u64 flags)
{
	struct aside *aside = own_aside();
	__u64 task = bpf_get_current_task();
	long code;

	if (!aside)
		return -1;
	if (aside->writer == task) {
		code = put_aside(aside, rec, size);
		/* The writer that sends it does not wake user space: the next one does. */
		has_new_code |= (flags & BPF_RB_FORCE_WAKEUP) / BPF_RB_FORCE_WAKEUP;
	} else {
		/*
		 * A mark of another task is stale: that task was preempted and does not hold the
		 * lock.
		 */
		aside->writer = task;
		barrier();
		code = bpf_ringbuf_output(ring, rec, size, flags);
#ifndef EMIT_LEAVES_ASIDE
		if (aside->used)
			send_aside();
#endif
		barrier();
		aside->writer = 0;
	}
	return code;
}

/* Copies a record into the ring and counts its bytes. False: no room. */
static __always_inline bool emit_output(struct bpf_counters *count, void *ring, void *rec,
					__u32 size, __u64 flags)
{
#ifdef EMIT_PLAINLY
	if (bpf_ringbuf_output(ring, rec, size, flags))
		return false;
#else
	if (write_or_put_aside(ring, rec, size, flags))
		return false;
#endif
	__sync_fetch_and_add(&count->written_bytes, size);
	return true;
}
