/* SPDX-License-Identifier: MIT */
/*
 * Long tasks of event loops: markers from the return of a call that waited for events to the next
 * such call. The name of their schema identifies them.
 */
#pragma once

#include "lib/model/tables/profile.h"

/* True if the profile has the schema of long tasks. */
bool long_tasks_are_in(const struct profile *p);
/*
 * Sets the cause of each task to the stack of its thread sampled nearest to the middle of the task.
 * Call once all samples are there.
 */
void long_tasks_set_causes(struct profile *p);

/* Tasks of a thread, ascending and without overlap. */
struct long_tasks {
	VEC(struct long_task) rows;
};

struct long_task {
	uint64_t start, end; /* CLOCK_MONOTONIC ns */
};

/* Replaces the content of `t` by the tasks among the thread's markers. */
void long_tasks_find(struct long_tasks *t, const struct profile *p,
		     const struct profile_thread *thread);
/*
 * Returns how long an event that arrived at the beginning of the task had waited at `time`; 0 if
 * the thread was in no long task. *at is the search position: 0 at first, then advanced, so times
 * must be ascending.
 */
uint64_t long_tasks_delay(const struct long_tasks *t, uint64_t time, size_t *at);
