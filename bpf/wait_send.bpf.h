/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sends a beginning wait with its stack. Include own_scratch.bpf.h first. */
#pragma once

#include "bpf/emit.bpf.h"
#include "bpf/runtime.bpf.h"
#include "bpf/stack_emit.bpf.h"
#include "bpf/wait.bpf.h"

struct switch_states {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct switch_state);
};

struct switch_states switch_states SEC(".maps");
struct runtime_scratches runtime_scratches SEC(".maps");

static __always_inline struct switch_state *own_switch_state(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&switch_states, &zero);
}

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
