// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Adds the methods of Ruby to the stack of a sample, and sends it. */
#include "bpf/runtimes/pending.bpf.h"
#include "bpf/runtimes/ruby_stack.bpf.h"

SEC("perf_event")
int on_ruby(void *ctx)
{
	finish_pending(ruby_add_frames);
	return 0;
}

SEC("tracepoint")
int on_ruby_tracepoint(void *ctx)
{
	finish_pending(ruby_add_frames);
	return 0;
}
