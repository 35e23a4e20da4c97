/* SPDX-License-Identifier: MIT */
/*
 * A running recording as a profile of its latest seconds: records from another process's pipe
 * become rows of a session. Each update moves the rows to the profile, with the names known so far.
 * Each epoch of the records starts a new session.
 */
#pragma once

#include "lib/model/tables/profile.h"

struct moving;

struct moving_options {
	uint64_t keep_ns; /* minimum length of the profile */
	const char *const *dirs; /* folders of --debug-dir, NULL-terminated; borrowed */
	bool no_symbols;
};

struct moving_counts {
	uint64_t lost; /* number of lost samples */
	uint64_t held; /* number of samples waiting for names, not in the profile yet */
	uint64_t names_ns; /* time spent on naming */
};

/* Borrows the descriptor, which does not block. */
struct moving *moving_new(int fd, const struct moving_options *options);
/* Accepts NULL. */
void moving_free(struct moving *m);
/*
 * Reads the available records. Returns 1 if more will come, 0 if the recording has ended, -EBADMSG
 * or a read error.
 */
int moving_read(struct moving *m, struct error *err);
/*
 * Updates the profile with the records read. Without names_all, samples in new functions are added
 * once naming them would not take too much time. The profile is borrowed, lacks the samples' CPU
 * times, is valid until the next call, and is the same one while *number is unchanged. NULL if
 * nothing was recorded yet.
 */
const struct profile *moving_profile(struct moving *m, bool names_all, uint64_t *number);
/* Sets the minimum length of the profile from now on. */
void moving_keep(struct moving *m, uint64_t keep_ns);
/* Freezes the last returned profile, so that updates go to a copy; false unfreezes it. */
void moving_hold(struct moving *m, bool is_held);
/* Returns the time up to which the profile is complete, in ns since its start; 0: none. */
uint64_t moving_end(const struct moving *m);
struct moving_counts moving_count(const struct moving *m);
