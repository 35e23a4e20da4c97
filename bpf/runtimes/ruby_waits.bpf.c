// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Adds the methods of Ruby to the stack of a wait that begins, and sends it: the end of
 * on_switch, with the same restrictions (bpf/probes/waits.bpf.c). It uses the maps of the waits'
 * object, and the one in which ruby.bpf.c remembers functions.
 */
#include "bpf/own_scratch.bpf.h"

#include "bpf/runtimes/ruby_stack.bpf.h"
#include "bpf/runtimes/pending_wait.bpf.h"

SEC("tp_btf/sched_switch")
int on_ruby_wait(void *ctx)
{
	finish_wait(ruby_add_frames);
	return 0;
}
