/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sends a beginning wait with its stack. Include own_scratch.bpf.h first. */
#pragma once

#include "bpf/emit.bpf.h"
#include "bpf/runtime.bpf.h"
#include "bpf/stack_emit.bpf.h"
#include "bpf/wait.bpf.h"

PER_CPU(struct switch_state, switch_states, own_switch_state)
struct runtime_scratches runtime_scratches SEC(".maps");

/* Sends the wait in st->wait with the stack in s. False: the ring has no room. */
static __always_inline bool write_wait(struct stack_scratch *s, struct switch_state *st,
				       struct wait_row *row)
{
	struct rec_wait *wait = &st->wait;
	struct bpf_counters *count = own_counters();
	void *ring = own_ring();

	if (!count || !ring || !place_stack(s, &wait->sample, config.copy_bytes / 4))
		return false;
	/*
	 * Taking the stack prolongs this wait, but not those that it represents: start it
	 * afterwards.
	 */
	if (row->chance)
		wait->start = wait->sample.rec.time = row->left = bpf_ktime_get_ns();
	return emit_output(count, ring, wait, sizeof(*wait), ring_flags(ring));
}

/* Sends the wait in st->wait, that of `row`, with the stack in s. */
static __always_inline void send_wait(struct stack_scratch *s, struct switch_state *st,
				      struct wait_row *row)
{
	if (!write_wait(s, st, row)) {
		note_unsampled_wait();
		st->lost++;
		return;
	}
	row->is_sampled = 1;
	row->frames = st->frames / WAIT_FRAMES_UNIT;
	st->sampled++;
	if (row->chance && (!st->chance_min || row->chance < st->chance_min))
		st->chance_min = row->chance;
}
