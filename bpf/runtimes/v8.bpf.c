// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Adds the functions of JavaScript to the stack of a sample, and sends it. */
#include "bpf/runtimes/pending.bpf.h"
#include "bpf/runtimes/v8_stack.bpf.h"

static __always_inline void finish_sample(void)
{
	struct runtime_scratch *notes = own_runtime_scratch();
	struct stack_scratch *s;
	__u32 zero = 0;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!s || !notes)
		return;
	v8_add_frames(s, notes, &notes->pending.sample.rec);
	send_pending(s, notes);
}

SEC("perf_event")
int on_v8(void *ctx)
{
	finish_sample();
	return 0;
}

SEC("tracepoint")
int on_v8_tracepoint(void *ctx)
{
	finish_sample();
	return 0;
}
