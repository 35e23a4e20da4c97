/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sends the wait handed over to a runtime's program. Include own_scratch.bpf.h first. */
#pragma once

#include "bpf/program_cost.bpf.h"
#include "bpf/runtimes/managed.bpf.h"
#include "bpf/wait_send.bpf.h"

/* Shared with the probe. */
struct runtime_programs runtime_switches SEC(".maps");

/*
 * Sends the current task's wait with its stack. Looks everything else up again: the caller is short
 * of stack.
 */
__noinline int send_pending_wait(void)
{
	struct wait_row *row = find_wait_row(bpf_get_current_task_btf());
	struct switch_state *st = own_switch_state();
	struct stack_scratch *s;

	s = own_stack();
	if (row && st && s)
		send_wait(s, st, row);
	return 0;
}

/* Like finish_pending(), for the wait that begins. */
static __always_inline void finish_wait(void *ctx, add_frames_fn *add_frames)
{
	struct runtime_scratch *notes = own_runtime_scratch();
	struct switch_state *st = own_switch_state();
	struct stack_scratch *s;

	s = own_stack();
	if (s && notes && st) {
		st->frames += add_frames(s, notes, &st->wait.sample.rec);
		go_to_next_runtime(ctx, &runtime_switches, s, st->frames);
		send_pending_wait();
	}
	end_run(TIMED_SWITCH, 0);
}
