/* SPDX-License-Identifier: MIT */
/* Markers that are completed after the recording: long tasks, spans of probes, long waits. */
#pragma once

#include "lib/model/tables/profile.h"

/*
 * Long tasks of event loops: markers from the return of a call that waited for events to the next
 * such call. The name of their schema identifies them.
 */

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

/*
 * Spans between pairs of user probes (USDT) that a thread passes: "query__start" and "query__done".
 * Names follow no standard; the pairs are those that programs use.
 */

/*
 * Extends the marker of each first probe to the matching second one, as nested calls match. Keeps
 * the markers of second probes, and first ones without a match, as instants. Call once all markers
 * are there.
 */
void probe_spans_join(struct profile *p);

/*
 * Markers of long waits. They are created as slow calls; the names of the kernel's functions later
 * show which ones waited for a lock, the disk or a page of memory.
 */

/* Returns the schema of slow calls; NO_SCHEMA if the profile has no room for more. */
schema_id slow_waits_schema(struct profile *p);
/* Names the markers by the categories of their stacks, and drops those of idle waits. */
void slow_waits_classify(struct profile *p);
