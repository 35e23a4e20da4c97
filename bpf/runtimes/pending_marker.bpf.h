/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sends the stack of a marker. Include own_scratch.bpf.h first. */
#pragma once

#include "bpf/marker_ends.bpf.h"
#include "bpf/runtimes/managed.bpf.h"
#include "bpf/stack_emit.bpf.h"

/* All maps below are shared with the probe. */
struct runtime_scratches runtime_scratches SEC(".maps");
struct marker_ends marker_ends SEC(".maps");
struct runtime_programs runtime_markers SEC(".maps");

/* Adds the runtime's frames to the marker's stack, sends it, and tail-calls the probe's end. */
static __always_inline void finish_marker(void *ctx, add_frames_fn *add_frames)
{
	struct runtime_scratch *notes = own_runtime_scratch();
	struct stack_scratch *s;
	__u32 found;

	s = own_stack();
	if (!s || !notes)
		return;
	found = add_frames(s, notes, &notes->pending.sample.rec);
	go_to_next_runtime(ctx, &runtime_markers, s, found);
	notes->pending_size = place_stack(s, &notes->pending.sample, MARKER_COPY_BYTES);
	bpf_tail_call(ctx, &marker_ends, notes->program);
}
