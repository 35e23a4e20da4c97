/* SPDX-License-Identifier: MIT */
/*
 * A recording that goes on, as a profile of its latest seconds: records from a pipe, as another
 * process writes them, become the rows of a session, which leave it at each look and get the names
 * that are known already. The session is renewed with each epoch of the records.
 */
#ifndef PROF_LIB_RECORDING_MOVING_H
#define PROF_LIB_RECORDING_MOVING_H

#include "lib/base/error.h"
#include "lib/model/tables/profile.h"

struct moving;

struct moving_options {
	uint64_t keep_ns; /* length of what is kept, at least */
	const char *const *dirs; /* of --debug-dir, NULL-terminated; borrowed */
	bool no_symbols;
};

struct moving_counts {
	uint64_t lost; /* samples */
	uint64_t held; /* samples that wait for names, and are not in the profile */
	uint64_t names_ns; /* time that naming took */
};

/* Borrows the descriptor, which does not block. */
struct moving *moving_new(int fd, const struct moving_options *options);
/* NULL is fine. */
void moving_free(struct moving *m);
/*
 * Takes the records that are there. 1: more will come; 0: the recording has ended; -EBADMSG, or
 * what reading failed with.
 */
int moving_read(struct moving *m, struct error *err);
/*
 * Brings the profile up to the records taken. Without names_all, samples in new functions come as
 * soon as naming these would not take too much of the time. It is borrowed, without CPU times of
 * samples, valid until the next call, and the same one while *number stays. NULL: nothing was
 * recorded yet.
 */
const struct profile *moving_profile(struct moving *m, bool names_all, uint64_t *number);
/* Keeps at least so much from now on. */
void moving_keep(struct moving *m, uint64_t keep_ns);
/* Keeps the profile that was given last as it is: a copy goes on. False: no more. */
void moving_hold(struct moving *m, bool is_held);
/* Returns the time of which all is known, ns since the profile's start; 0: of none. */
uint64_t moving_end(const struct moving *m);
struct moving_counts moving_count(const struct moving *m);

#endif
