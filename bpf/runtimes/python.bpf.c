// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Adds Python's frames to the stack of a sample, and sends it. */
#include "bpf/runtimes/pending.bpf.h"
#include "bpf/runtimes/python_stack.bpf.h"

SEC("perf_event")
int on_python(void *ctx)
{
	finish_pending(python_add_frames);
	return 0;
}

SEC("tracepoint")
int on_python_tracepoint(void *ctx)
{
	finish_pending(python_add_frames);
	return 0;
}
