/* SPDX-License-Identifier: MIT */
/* Processes of a recording, by pid and by incarnation: pids are reused. */
#pragma once

#include "bpf/record.h"
#include "lib/model/tables/ids.h"
#include "lib/stream/process/mapping.h"
#include "lib/model/tables/strings.h"

typedef uint32_t process_id;

#define NO_PROCESS UINT32_MAX

/* Kind of the first record that mentioned a task. */
enum task_origin {
	TASK_SEEN, /* seen active: the beginning is unknown */
	TASK_SCANNED, /* already running when the recording began */
	TASK_FORKED, /* the fork was recorded */
};

/* No user. Both NO_USER and rec_user have the group in the upper half. */
#define NO_USER UINT64_MAX

struct user_change {
	uint64_t since;
	uint64_t user;
};

struct process {
	uint32_t pid, incarnation;
	uint64_t start, end; /* end is valid only if has_ended */
	string_id name; /* NO_STRING: not known yet */
	string_id cgroup; /* path; NO_STRING: same as the recorder's */
	string_id container; /* name; NO_STRING: unknown */
	string_id resource; /* as in struct rec_resource; NO_STRING: none */
	string_id arguments; /* as in struct profile_thread */
	uint32_t ns_pid; /* pid in the process's own pid namespace; 0: it uses the recorder's
			    namespace */
	module_id anon; /* module of the anonymous memory; NO_MODULE: no frame in it yet */
	process_id parent; /* NO_PROCESS: unknown */
	thread_id parent_thread; /* thread that forked the process; NO_THREAD: unknown */
	uint32_t status; /* as wait(2) reports it; valid if has_status */
	uint64_t space_start; /* time of the last exec; 0: no exec seen */
	struct mapping_table *mappings;
	struct mapping_table *replaced; /* mappings before the last exec; NULL: no exec seen */
	thread_id main_thread, last_thread; /* last_thread heads the list of all threads */
	uint8_t origin; /* enum task_origin */
	uint64_t first_user; /* NO_USER: unknown */
	VEC(struct user_change) users; /* later changes, in order of time */
	bool is_forked; /* forked without an exec since */
	bool has_ended;
	bool has_status;
	bool was_oom_killed;
	bool was_outside, was_wanted; /* a filter once rejected, or passed, the process */
};

struct process_table {
	VEC(struct process) rows;
	struct index by_pid; /* latest incarnation by pid */
};

/* True if the filters ever passed the process, or were never applied to it. */
static inline bool process_is_wanted(const struct process *process)
{
	return process->was_wanted || !process->was_outside;
}

void process_table_release(struct process_table *t);
/* Returns the latest incarnation of pid, or NO_PROCESS. */
process_id process_table_find(const struct process_table *t, uint32_t pid);
/* Adds an incarnation of pid. Takes ownership of `mappings`; the caller sets the threads. */
process_id process_table_add(struct process_table *t, uint32_t pid, uint64_t start,
			     enum task_origin origin, struct mapping_table *mappings);
/*
 * Returns the process's mappings at a time no earlier than its last exec but one. They may include
 * later changes, but none made by an exec.
 */
struct mapping_table *process_mappings_at(const struct process *process, uint64_t time);
/* Sets control group and pid namespace. */
void process_set_container(struct process *process, struct strings *strings,
			   const struct rec_container *container);
void process_set_resource(struct process *process, struct strings *strings,
			  const struct rec_resource *resource);
/* Copies unknown attributes from the parent. */
void process_inherit(struct process *process, const struct process *parent);
