// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Adds the functions of Java to the stack of a sample, and sends it. */
#include "bpf/runtimes/pending.bpf.h"
#include "bpf/runtimes/hotspot_stack.bpf.h"

SEC("perf_event")
int on_hotspot(void *ctx)
{
	finish_pending(hotspot_add_frames);
	return 0;
}

SEC("tracepoint")
int on_hotspot_tracepoint(void *ctx)
{
	finish_pending(hotspot_add_frames);
	return 0;
}
