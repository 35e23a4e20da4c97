/* SPDX-License-Identifier: MIT */
/*
 * The flight recorder, --last: only the end of a recording is kept, in memory, and written when
 * something asks for it. Writing and naming happen in processes of their own, with the rights of
 * the invoking user, so that recording never waits for them.
 */
#ifndef PROF_CMD_RUN_FLIGHT_H
#define PROF_CMD_RUN_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cmd/run/triggers.h"
#include "lib/base/error.h"
#include "lib/stream/record/record.h"

struct child;
struct pipeline;

/* Snapshots have numbers from 1; those who ask before it is taken share it. */
struct flight {
	uint64_t due_ns; /* when the next snapshot is taken; 0: nobody wants one */
	struct triggers triggers;
	struct child *child; /* the writing process; NULL: none */
	int copying; /* end of file once the child has copied what is kept; -1: none */
	char *path; /* of the snapshot that is written, or was written last */
	uint64_t kept_ns; /* length of that one */
	uint64_t triggered_ns; /* when a trigger last asked */
	uint32_t asked, taken, ended; /* number of the latest one */
	bool has_failed; /* the one that ended last */
};

#define FLIGHT_INIT ((struct flight){.copying = -1})

/* Prepares it, if the options want it. Refuses names that cannot be written. */
int flight_open(struct pipeline *p, struct error *err);
/*
 * Asks for a snapshot, --after from now, and marks this moment in the recording. Returns its
 * number. 0: it is not recorded with --last.
 */
uint32_t flight_ask(struct pipeline *p, const char *reason);
/* Looks at a record for what triggers wait for. */
void flight_take(struct pipeline *p, const struct rec *rec);
/* Takes a snapshot that is due, and looks after the one that is being written. Call often. */
void flight_poll(struct pipeline *p);
/* Sampling has ended: writes the last snapshot, and waits for it. */
int flight_finish(struct pipeline *p, struct error *err);
void flight_release(struct flight *f);

#endif
