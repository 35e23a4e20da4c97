// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Adds Python's frames to the stack of a wait that begins, and sends it: the end of on_switch, with
 * the same restrictions (bpf/probes/waits.bpf.c). It uses the maps of the waits' object, and those
 * in which python.bpf.c remembers functions and threads.
 */
#include "bpf/own_scratch.bpf.h"

#include "bpf/runtimes/python_stack.bpf.h"
#include "bpf/runtimes/pending_wait.bpf.h"

SEC("tp_btf/sched_switch")
int on_python_wait(void *ctx)
{
	finish_wait(python_add_frames);
	return 0;
}
