/* SPDX-License-Identifier: MIT */
/* Markers of long waits, named by lib/model/meaning/slow_waits.h once stacks have names. */
#ifndef PROF_LIB_STREAM_SESSION_WAITS_WAIT_MARKERS_H
#define PROF_LIB_STREAM_SESSION_WAITS_WAIT_MARKERS_H

#include "bpf/wait_record.h"
#include "lib/stream/session/tasks/tasks.h"

enum wait_stack_taken {
	WAIT_STACK_NONE,
	WAIT_STACK_BY_CHANCE,
	WAIT_STACK_BY_LENGTH, /* taken while the thread waited, or of every wait */
};

struct slow_wait {
	thread_id thread;
	uint64_t start, end;
	stack_id stack; /* with its label */
	struct wait_reason reason;
	enum wait_stack_taken taken;
	uint32_t chance; /* of WAIT_STACK_BY_CHANCE, in 2^-32 */
};

/* Adds a marker to the thread, unless the label says that it idled. */
void wait_markers_add(struct tasks *tasks, const struct slow_wait *wait);

#endif
