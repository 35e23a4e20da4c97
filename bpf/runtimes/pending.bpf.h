/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sends the sample that a runtime's program has taken over. */
#ifndef PROF_BPF_RUNTIMES_PENDING_BPF_H
#define PROF_BPF_RUNTIMES_PENDING_BPF_H

#include "bpf/event_state.bpf.h"
#include "bpf/runtimes/managed.bpf.h"
#include "bpf/stack_emit.bpf.h"

/* The ring has no room for the pending sample: counts it as whoever took it would have. */
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

/* Sends the sample with the stack in s. */
static __always_inline void send_pending(struct stack_scratch *s, struct runtime_scratch *m)
{
	struct bpf_counters *losses = own_counters();
	__u32 size = m->pending_size;
	void *ring = own_ring();

	if (!losses)
		return;
	if (size > sizeof(m->pending) || !ring ||
	    !place_stack(s, &m->pending.sample, m->copy_bytes) ||
	    !emit_output(losses, ring, &m->pending, size, ring_flags(ring)))
		lose_pending(m, losses);
}

#endif
