/* SPDX-License-Identifier: MIT */
/* Takes rows of samples from a session into a profile that keeps them, with names. */
#ifndef PROF_LIB_RECORDING_MOVING_ROWS_H
#define PROF_LIB_RECORDING_MOVING_ROWS_H

#include "lib/model/tables/profile.h"
#include "lib/recording/moving_names.h"
#include "lib/stream/session/session.h"

/* A sample that waits for names. */
struct held_sample {
	thread_id thread; /* of the session */
	struct sample sample;
};

/* A session, and what became of its rows in the profile they go to. */
struct moving_rows {
	struct session *session; /* NULL: none */
	struct profile *from; /* the session's */
	VEC(stack_id) stacks; /* by stack of the session; NO_STACK: not taken yet */
	VEC(struct moved_frame) frames; /* by frame of the session */
	VEC(thread_id) threads; /* by thread of the session; NO_THREAD: not taken yet */
	VEC(struct held_sample) held;
};

/* Begins a session. */
void moving_rows_init(struct moving_rows *r, const struct recording_facts *facts,
		      uint64_t start_ns);
/*
 * Takes all rows that the session has, and those of waits up to until_ns; those without names wait
 * unless it names them, too.
 */
void moving_rows_take(struct moving_rows *r, struct profile *into, struct moving_names *names,
		      uint64_t until_ns, bool names_all);
/* Forgets what became of them: they go to another profile from now on. */
void moving_rows_forget(struct moving_rows *r);
void moving_rows_release(struct moving_rows *r);
/* Returns the thread with these ids in the profile, added if new. */
thread_id moving_thread(struct profile *into, const struct profile *from,
			const struct profile_thread *row);

#endif
