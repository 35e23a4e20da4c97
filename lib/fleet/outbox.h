/* SPDX-License-Identifier: MIT */
/*
 * Windows that wait for an engine, each a profile in a file of its own, so that they survive the
 * process. What the disk does not take waits in memory. The oldest ones go if there are too many,
 * and are counted.
 */
#ifndef PROF_LIB_FLEET_OUTBOX_H
#define PROF_LIB_FLEET_OUTBOX_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/vec.h"

struct outbox_row {
	uint64_t id; /* since the Unix epoch, ns */
	uint64_t samples, bytes;
	uint64_t lost; /* samples lost before it */
	uint64_t done; /* samples that the engine has already */
	int fd; /* in memory; -1: in the folder */
};

struct outbox_limits {
	uint64_t bytes, memory_bytes; /* in the folder, and without one */
	uint64_t age_ns; /* older ones go, too; 0: never */
};

/* Zeroed, but for `limits` and `folder`, is empty. */
struct outbox {
	struct outbox_limits limits;
	int folder; /* descriptor; -1: there is none */
	VEC(struct outbox_row) rows; /* the oldest first */
	uint64_t bytes, memory_bytes;
	uint64_t lost_windows, lost_samples; /* windows that had to go */
	bool was_newest; /* the one chosen last */
	uint64_t busy; /* the id of the one that is being sent, which stays; 0: none */
	int failure; /* negative errno of the disk; 0: it takes them */
};

/* Opens the folder, which is this user's, and finds what an earlier process left there. */
int outbox_open(struct outbox *o, const char *path, struct error *err);
void outbox_release(struct outbox *o);
/* Takes a profile over; one of the same id is replaced. `now_ns`: CLOCK_REALTIME. */
void outbox_add(struct outbox *o, const struct outbox_row *row, int fd, uint64_t now_ns);
/* Lets those go that are too old. */
void outbox_expire(struct outbox *o, uint64_t now_ns);
/* Returns the one to be sent next: newest and oldest in turn. NULL: none. */
struct outbox_row *outbox_choose(struct outbox *o);
/* Finds one; NULL: it has gone. */
struct outbox_row *outbox_find(struct outbox *o, uint64_t id);
/* Opens a profile for reading. A negative errno: it is gone, or damaged. */
int outbox_read(const struct outbox *o, const struct outbox_row *row);
/* Notes what of it the engine has. */
void outbox_progress(struct outbox *o, struct outbox_row *row, uint64_t done);
/* Removes it; `is_lost`: it counts as lost, as far as it was not done. */
void outbox_remove(struct outbox *o, struct outbox_row *row, bool is_lost);

#endif
