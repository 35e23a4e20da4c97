/* SPDX-License-Identifier: MIT */
/* The processes of a recording: by pid, and by incarnation where a pid was used again. */
#ifndef PROF_LIB_SESSION_PROCESS_H
#define PROF_LIB_SESSION_PROCESS_H

#include <stdbool.h>

#include "lib/base/index.h"
#include "lib/base/vec.h"
#include "lib/profile/ids.h"
#include "lib/process/mapping.h"

typedef uint32_t process_id;

#define NO_PROCESS UINT32_MAX

/* How the first record about a task introduced it. */
enum task_origin {
	TASK_SEEN, /* by doing something: how it began is not known */
	TASK_SCANNED, /* it ran already when recording began */
	TASK_FORKED, /* its beginning was recorded */
};

/* The group in the upper half, both as in struct rec_user. */
#define NO_USER UINT64_MAX

struct user_change {
	uint64_t since;
	uint64_t user;
};

struct process {
	uint32_t pid, incarnation;
	uint64_t start, end; /* end means nothing until has_ended */
	string_id name; /* NO_STRING: not known yet */
	string_id cgroup; /* path; NO_STRING: the recorder's own */
	string_id arguments; /* as in struct profile_thread */
	uint32_t ns_pid; /* in its own pid namespace; 0: that is the recorder's */
	module_id anon; /* its anonymous memory, NO_MODULE until a frame lies there */
	process_id parent; /* NO_PROCESS: not known */
	uint64_t space_start; /* its last exec, 0: none was seen */
	struct mapping_table *mappings;
	thread_id main_thread, last_thread; /* last_thread begins the chain through all */
	uint8_t origin; /* enum task_origin */
	uint64_t first_user; /* NO_USER: not known */
	VEC(struct user_change) users; /* after that, by time */
	bool has_ended;
	bool was_outside, was_wanted; /* of the filters, by them: at some time */
};

struct process_table {
	VEC(struct process) rows;
	struct index by_pid; /* the latest incarnation of each */
};

void process_table_release(struct process_table *t);
/* The latest incarnation of pid, or NO_PROCESS. */
process_id process_table_find(const struct process_table *t, uint32_t pid);
/* A new incarnation of pid. Takes `mappings` over; the threads are the caller's to set. */
process_id process_table_add(struct process_table *t, uint32_t pid, uint64_t start,
			     enum task_origin origin, struct mapping_table *mappings);

#endif
