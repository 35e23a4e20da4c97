// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Adds the functions of Java to the stack of a marker, for each type of program that takes
 * such stacks. It uses the maps of the probe's object, and the one in which hotspot.bpf.c remembers
 * functions.
 */
#include "bpf/own_scratch.bpf.h"

#include "bpf/runtimes/hotspot_stack.bpf.h"
#include "bpf/runtimes/pending_marker.bpf.h"

SEC("raw_tp")
int on_hotspot_marker(void *ctx)
{
	finish_marker(ctx, hotspot_add_frames);
	return 0;
}

SEC("tp_btf/sched_waking")
int on_hotspot_waking(void *ctx)
{
	finish_marker(ctx, hotspot_add_frames);
	return 0;
}

SEC("perf_event")
int on_hotspot_fault(void *ctx)
{
	finish_marker(ctx, hotspot_add_frames);
	return 0;
}
