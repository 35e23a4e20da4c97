/* SPDX-License-Identifier: MIT */
/* Markers of a selection in order of time, and their fields as text. */
#pragma once

#include "lib/model/tables/profile.h"
#include "lib/query/select.h"

struct marker_row {
	const struct profile_thread *thread;
	const struct marker *marker;
	size_t number; /* number in file order */
	size_t whole; /* see marker_rows_join(); its own index before */
};

struct marker_rows {
	VEC(struct marker_row) list;
};

/*
 * Adds markers of the filter's threads that overlap its time. Markers of the same time stay in file
 * order. Rows borrow from the profile.
 */
void marker_rows_make(struct marker_rows *rows, const struct profile *p,
		      const struct query_filter *filter);
/*
 * Joins the markers that describe one wait: the wait, its system call, its wake-up, and the
 * child whose end it was for. `whole` of the others becomes the index of the wait's row.
 */
void marker_rows_join(struct marker_rows *rows, const struct profile *p);
/* Returns the thread that ended a wait, by a marker of a wake-up; NO_THREAD: unknown. */
thread_id marker_waker(const struct profile *p, const struct marker *marker);
void marker_rows_release(struct marker_rows *rows);
/*
 * Returns "sender: 12, size: 4 kB", which the caller frees; NULL if there are no fields. Omits
 * stacks.
 */
char *marker_fields_text(const struct profile *p, const struct marker *marker);

/* Ends of a thread's waits: markers of wakers, or else those of the critical path. */

/* The end of a wait, which has a row in [from, until]. */
struct waking {
	uint64_t from, until; /* CLOCK_MONOTONIC ns */
	stack_id stack; /* the waker's; NO_STACK: unknown */
	string_id name; /* of the waker's thread, or of another cause; not NO_STRING */
};

struct thread_of_tid {
	uint32_t tid;
	string_id name;
};

struct wakings {
	const struct profile *p;
	schema_id woken, path; /* NO_SCHEMA: none was recorded */
	uint32_t waker, tid, stack, cause; /* fields */
	VEC(struct thread_of_tid) threads; /* by tid */
	VEC(struct waking) rows; /* of the thread chosen last, by start */
};

/* Returns false if the profile has no such markers; the struct must be released in any case. */
bool wakings_init(struct wakings *w, const struct profile *p);
void wakings_release(struct wakings *w);
/* Chooses a thread. */
void wakings_of_thread(struct wakings *w, thread_id id);
/* Returns the end of the wait with a row at that time, or NULL. `time`: CLOCK_MONOTONIC, in ns. */
const struct waking *wakings_at(const struct wakings *w, uint64_t time);
