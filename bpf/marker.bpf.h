/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Recording state, owners and losses, shared by probes whose records become markers. Each object
 * has its own variables.
 */
#pragma once

#include "bpf/emit.bpf.h"
#include "bpf/filter.bpf.h"
#include "bpf/filter_match.bpf.h"
#include "bpf/live_record.h"

struct marker_variables markers = {};

/*
 * Sets the record's pids to the current task's. Returns its process; NULL: it is not recorded. The
 * caller has initialized the record.
 */
static __always_inline struct tracked_process *marker_owner(struct task_struct *task,
							    struct rec *rec)
{
	struct tracked_process *process = find_current(task);
	struct task_ids ids = {.tgid = task->tgid, .pid = task->pid};

	return process && !match_task(task, ids, rec) ? process : NULL;
}

static __always_inline void count_marker(bool is_sent)
{
	if (is_sent)
		__sync_fetch_and_add(&markers.sent, 1);
	else
		__sync_fetch_and_add(&markers.lost, 1);
}

/*
 * Sends the record of `size` bytes, padded, from memory of `room` bytes. `may_wake`: wake user
 * space once enough data has accumulated, forbidden for programs that hold locks. False: the ring
 * has no room.
 */
static __always_inline bool send_marker(struct rec *rec, __u32 size, __u32 room, bool may_wake)
{
	struct bpf_counters *count = own_counters();
	void *ring = own_ring();

	size = (size + 7) & ~7u;
	if (!count || !ring || size > room || is_filled(ring, MARKER_EIGHTHS))
		return false;
	rec->words = size / 8;
	return emit_output(count, ring, rec, size, may_wake ? ring_flags(ring) : BPF_RB_NO_WAKEUP);
}

static __always_inline void set_marker_stack(struct rec_marker_stack *stack,
					     const struct rec_sample *sample)
{
	stack->time = sample->rec.time;
	stack->leaf = sample->leaf;
	stack->stack_id = sample->stack_id;
	stack->pid = sample->rec.pid;
	stack->tid = sample->rec.tid;
	stack->flags = sample->rec.flags;
	__builtin_memset(stack->reserved, 0, sizeof(stack->reserved));
}

/* Copies the stack of a marker's sample, NULL if it has none, to the sample in its record. */
static __always_inline void set_sample_stack(struct rec_sample *to, const struct rec_sample *from)
{
	if (!from)
		return;
	to->rec.flags = from->rec.flags;
	to->leaf = from->leaf;
	to->stack_id = from->stack_id;
}

/*
 * Sends the record with the stack of `sample`, whose place in the record is `stack`, and counts it.
 * `sample` is NULL if the ring had no room for the stack. Otherwise like send_marker().
 */
static __always_inline void finish_marker(struct rec *rec, struct rec_marker_stack *stack,
					  const struct rec_sample *sample, __u32 size, __u32 room,
					  bool may_wake)
{
	if (sample)
		set_marker_stack(stack, sample);
	count_marker(sample && send_marker(rec, size, room, may_wake));
}
