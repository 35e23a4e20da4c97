/* SPDX-License-Identifier: MIT */
/*
 * Samples of other events than the clock: each thread has a row of its own in the profile for each
 * of them, since the samples of one row are all of one kind.
 */
#ifndef PROF_LIB_SESSION_EVENT_ROWS_H
#define PROF_LIB_SESSION_EVENT_ROWS_H

#include "bpf/record.h"
#include "lib/base/index.h"
#include "lib/profile/profile.h"

struct event_rows {
	struct profile *profile;
	VEC(struct profile_thread) rows;
	struct index index; /* by owner and event */
};

void event_rows_init(struct event_rows *r, struct profile *profile);
void event_rows_release(struct event_rows *r);
/* What an event is called. */
void event_rows_name(struct event_rows *r, const struct rec_event_name *rec);
/* Puts a sample where its time belongs; its weight is taken from `period`. */
void event_rows_add(struct event_rows *r, thread_id owner, uint32_t event, uint64_t period,
		    const struct sample *sample);
/* Once all threads have their final names and times: the rows become some of the profile. */
void event_rows_finish(struct event_rows *r);

#endif
