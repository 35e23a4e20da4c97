/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The states of events, by event number. */
#pragma once

#include "bpf/config.h"
#include "bpf/kernel.h"

struct event_states {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, EVENTS_MAX);
	__type(key, __u32);
	__type(value, struct event_state);
};

extern struct event_states event_states SEC(".maps");

/* Corrects the counts when the ring had no room for a sample counted as sent. */
static __always_inline void lose_event(struct event_state *e, __u64 period)
{
	e->samples--;
	e->lost += period;
}
