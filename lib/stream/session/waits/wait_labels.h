/* SPDX-License-Identifier: MIT */
/*
 * Says of a wait what it is for, by a label as its innermost frame: "[futex]". The label is that of
 * the system call, and its category what such calls wait for; wait_frames.h makes it more exact
 * once the kernel's functions have names.
 */
#ifndef PROF_LIB_STREAM_SESSION_WAITS_WAIT_LABELS_H
#define PROF_LIB_STREAM_SESSION_WAITS_WAIT_LABELS_H

#include <stdbool.h>

#include "bpf/wait_record.h"
#include "lib/model/tables/profile.h"
#include "lib/stream/process/system_calls.h"

/* Numbers in no table are looked up once each. */
#define WAIT_LABEL_CALLS 512

struct wait_labels {
	struct profile *profile;
	/* By table and number: its call, as in system_calls.h; valid where `is_known`. */
	const struct system_call *calls[CALLS_TABLE_COUNT][WAIT_LABEL_CALLS];
	bool is_known[CALLS_TABLE_COUNT][WAIT_LABEL_CALLS];
};

void wait_labels_init(struct wait_labels *l, struct profile *p);
/* Adds the label to the stack (NO_STACK: the label is all). */
stack_id wait_labels_add(struct wait_labels *l, stack_id stack, const struct wait_reason *reason,
			 bool is_kernel_thread);
/* Adds that of the end of a wait, when the thread could go on but had no CPU. */
stack_id wait_labels_add_queued(struct wait_labels *l, stack_id stack);

#endif
