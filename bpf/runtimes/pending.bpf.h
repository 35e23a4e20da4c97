/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sends the sample handed over to a runtime's program. */
#pragma once

#include "bpf/event_state.bpf.h"
#include "bpf/program_cost.bpf.h"
#include "bpf/runtimes/managed.bpf.h"
#include "bpf/stack_emit.bpf.h"

/* The ring has no room for the pending sample: counts it as its own program would have. */
static __always_inline void lose_pending(struct runtime_scratch *m, struct bpf_counters *losses)
{
	__u32 event = m->pending.event.event;
	struct event_state *e;

	if (m->pending.sample.rec.kind == REC_EVENT) {
		e = bpf_map_lookup_elem(&event_states, &event);
		if (e)
			lose_event(e, m->pending.event.period);
	} else {
		__sync_fetch_and_add(&losses->lost_samples, 1);
	}
}

/* False: the ring has no room for it. */
static __always_inline bool write_pending(struct stack_scratch *s, struct runtime_scratch *m,
					  struct bpf_counters *count)
{
	void *ring = own_ring();
	__u32 size;

	if (!ring || !place_stack(s, &m->pending.sample, m->copy_bytes))
		return false;
	size = m->pending_size;
	/* Older verifiers forget the bounds of a number that is spilled. */
	barrier_var(size);
	return size <= sizeof(m->pending) &&
	       emit_output(count, ring, &m->pending, size, ring_flags(ring));
}

/* Sends the sample with the stack in s. */
static __always_inline void send_pending(struct stack_scratch *s, struct runtime_scratch *m)
{
	struct bpf_counters *count = own_counters();

	if (count && !write_pending(s, m, count))
		lose_pending(m, count);
}

/* Ends the run of the program that took the sample. */
static __always_inline void end_pending_run(void)
{
	struct runtime_scratch *m = own_runtime_scratch();

	if (m)
		end_run(m->program, 0);
}

/*
 * Adds the runtime's frames to the stack of the pending sample, and sends it or passes both to the
 * process's next runtime. `programs`: those of the same type.
 */
static __always_inline void finish_pending(void *ctx, void *programs, add_frames_fn *add_frames)
{
	struct runtime_scratch *m = own_runtime_scratch();
	struct stack_scratch *s;
	__u32 found;

	s = own_stack();
	if (!s || !m)
		return;
	found = add_frames(s, m, &m->pending.sample.rec);
	go_to_next_runtime(ctx, programs, s, found);
	send_pending(s, m);
	end_run(m->program, 0);
}
