/* SPDX-License-Identifier: MIT */
/*
 * Processes and threads, and what the records of their lives do to them. Whoever is mentioned by
 * any record exists from then on: the record that introduced it may have been lost.
 */
#ifndef PROF_LIB_SESSION_TASKS_H
#define PROF_LIB_SESSION_TASKS_H

#include "bpf/record.h"
#include "lib/profile/profile.h"
#include "lib/session/process.h"
#include "lib/session/thread.h"

struct tasks {
	struct profile *profile;
	struct process_table processes;
	struct thread_table threads;
	uint64_t last_stamp; /* given to a mapping table, see there */
};

void tasks_init(struct tasks *t, struct profile *profile);
void tasks_release(struct tasks *t);

void tasks_fork(struct tasks *t, const struct rec_fork *fork);
void tasks_name(struct tasks *t, const struct rec_name *name);
void tasks_exit(struct tasks *t, const struct rec_exit *end);
void tasks_set_container(struct tasks *t, const struct rec_container *container);
void tasks_user(struct tasks *t, const struct rec_user *user);
/* Into the mappings of the record's process. */
void tasks_map(struct tasks *t, const struct rec *rec, const struct mapping *mapping);
/* The latest process of the record's pid, dead or alive. */
process_id tasks_process(struct tasks *t, const struct rec *rec);
/* The task that a sample is of. It may have ended: then its end was later than it was told. */
thread_id tasks_sampled(struct tasks *t, const struct rec *rec);
/* Gives every row of the profile its final names and times. */
void tasks_finish(struct tasks *t);

/*
 * At the very end: takes the threads of processes out of the profile that the filters never let
 * pass. Ids of threads mean nothing any more.
 */
void tasks_drop_unwanted(struct tasks *t);

static inline struct process *tasks_process_of(struct tasks *t, thread_id thread)
{
	return &t->processes.rows.items[t->threads.rows.items[thread].process];
}

/* Nothing in a profile is older than its zero. */
static inline uint64_t tasks_time(const struct tasks *t, uint64_t time)
{
	return time > t->profile->meta.start_ns ? time : t->profile->meta.start_ns;
}

#endif
