/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sends the current task's user stack for a marker. Define HAS_OWN_STACK_SCRATCH if a tick can
 * interrupt the program. */
#ifndef PROF_BPF_USER_STACK_BPF_H
#define PROF_BPF_USER_STACK_BPF_H

#include "bpf/capture_stack.bpf.h"
#include "bpf/stack_emit.bpf.h"
#include "bpf/user.bpf.h"

/* Completes the sample, whose head is set. False: the ring has no room for its stack. */
static __always_inline bool send_user_stack(void *ctx, struct task_struct *task,
					    struct tracked_process *process,
					    struct rec_sample *sample)
{
	struct stack_scratch *s;
	void *ring = own_ring();
	__u32 zero = 0;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!s || !ring || is_filling(ring) || !user_is_told(process, &sample->rec))
		return false;
	capture_user_stack(ctx, task, process, s, sample->rec.pid);
	/* Takes a quarter of the room for copies at most; the rest is for samples. */
	return place_stack(s, sample, config.copy_bytes / 4);
}

#endif
