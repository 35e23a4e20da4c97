/* SPDX-License-Identifier: MIT */
/* Markers of a selection in order of time, and their fields as text. */
#pragma once

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
