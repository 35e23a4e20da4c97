/* SPDX-License-Identifier: MIT */
/*
 * Long tasks of event loops: markers from the return of a call that waited for events to the next
 * one. They are known by the name of their schema.
 */
#ifndef PROF_LIB_MODEL_MEANING_LONG_TASKS_H
#define PROF_LIB_MODEL_MEANING_LONG_TASKS_H

#include "lib/model/tables/profile.h"

/* Does the profile have their schema? */
bool long_tasks_are_in(const struct profile *p);
/* Gives each the stack of its thread that was taken nearest to its middle. Needs all samples. */
void long_tasks_set_causes(struct profile *p);

/* Tasks of a thread; ascending, and none overlaps the next. */
struct long_tasks {
	VEC(struct long_task) rows;
};

struct long_task {
	uint64_t start, end; /* CLOCK_MONOTONIC ns */
};

void long_tasks_release(struct long_tasks *t);
/* Replaces what is in `t` by the tasks among the thread's markers. */
void long_tasks_find(struct long_tasks *t, const struct profile *p,
		     const struct profile_thread *thread);
/*
 * Returns for how long an event that came at the beginning of the task has waited by that time; 0:
 * the thread was in no long task. *at is where the search begins, and is moved on; 0 at first, for
 * ascending times.
 */
uint64_t long_tasks_delay(const struct long_tasks *t, uint64_t time, size_t *at);

#endif
