/* SPDX-License-Identifier: MIT */
/* Frees the mappings of processes that have ended, once no late sample of them can come. */
#ifndef PROF_LIB_STREAM_SESSION_TASKS_ENDED_SPACES_H
#define PROF_LIB_STREAM_SESSION_TASKS_ENDED_SPACES_H

#include "lib/stream/session/tasks/process.h"

struct ended_space {
	process_id process;
	uint64_t end; /* CLOCK_MONOTONIC ns */
};

/* Zeroed is empty. */
struct ended_spaces {
	struct mapping_table *none; /* shared by all of them; NULL: not made yet */
	VEC(struct ended_space) rows;
	size_t first; /* row that has ended first; those before are done */
};

void ended_spaces_release(struct ended_spaces *e);
/* Call it when a process has ended, with its end as the present time. */
void ended_spaces_add(struct ended_spaces *e, struct process_table *t, process_id process);

#endif
