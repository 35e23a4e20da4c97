// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Adds the methods of Ruby to the stack of a marker, for each type of program that takes
 * such stacks. It uses the maps of the probe's object, and the one in which ruby.bpf.c remembers
 * functions.
 */
#include "bpf/own_scratch.bpf.h"

#include "bpf/runtimes/ruby_stack.bpf.h"
#include "bpf/runtimes/pending_marker.bpf.h"

SEC("raw_tp")
int on_ruby_marker(void *ctx)
{
	finish_marker(ctx, ruby_add_frames);
	return 0;
}

SEC("tp_btf/sched_waking")
int on_ruby_waking(void *ctx)
{
	finish_marker(ctx, ruby_add_frames);
	return 0;
}

SEC("perf_event")
int on_ruby_fault(void *ctx)
{
	finish_marker(ctx, ruby_add_frames);
	return 0;
}
