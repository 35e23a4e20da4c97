// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Adds the functions of JavaScript to the stack of a sample, and sends it. */
#include "bpf/runtimes/pending.bpf.h"
#include "bpf/runtimes/v8_stack.bpf.h"

SEC("perf_event")
int on_v8(void *ctx)
{
	finish_pending(v8_add_frames);
	return 0;
}

SEC("tracepoint")
int on_v8_tracepoint(void *ctx)
{
	finish_pending(v8_add_frames);
	return 0;
}
