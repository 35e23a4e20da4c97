// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Adds Python's frames to the stack of a marker, for each type of program that takes such stacks.
 * It uses the maps of the probe's object, and those in which python.bpf.c remembers functions and
 * threads.
 */
#include "bpf/own_scratch.bpf.h"

#include "bpf/runtimes/python_stack.bpf.h"
#include "bpf/runtimes/pending_marker.bpf.h"

SEC("raw_tp")
int on_python_marker(void *ctx)
{
	finish_marker(ctx, python_add_frames);
	return 0;
}

SEC("tp_btf/sched_waking")
int on_python_waking(void *ctx)
{
	finish_marker(ctx, python_add_frames);
	return 0;
}

SEC("perf_event")
int on_python_fault(void *ctx)
{
	finish_marker(ctx, python_add_frames);
	return 0;
}
