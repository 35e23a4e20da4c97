/* SPDX-License-Identifier: MIT */
/*
 * The flight recorder, --last: only the end of a recording is kept, in memory, and written when
 * something asks for it. Writing and naming happen in processes of their own, with the rights of
 * the invoking user, so that recording never waits for them.
 */
#ifndef PROF_CMD_RUN_FLIGHT_H
#define PROF_CMD_RUN_FLIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cmd/options/last_options.h"
#include "lib/base/error.h"
#include "lib/base/identity.h"
#include "lib/stream/record/records.h"

/*
 * A file that is polled some times a second, in a thread of its own: its file system may not
 * answer, which must hold up neither the recording nor its end.
 */

struct watched_file;

/* Watches for what --when-exit, --when-file and their like ask a snapshot for. */

/* State of one of them. */
struct trigger_state {
	const struct trigger *trigger;
	bool has_fired; /* a stall goes on */
	uint64_t total_us; /* of the pressure, when looked at last */
	struct watched_file *file; /* owned; NULL: it is about no file */
};

struct trigger_schema {
	uint32_t id;
	char *name;
};

/* Gets why a snapshot is wanted. */
typedef void trigger_fn(void *ctx, const char *reason);

/* Zeroed is empty. */
struct triggers {
	VEC(struct trigger_state) rows;
	VEC(struct trigger_schema) schemas; /* by id; only if markers are watched */
	uint64_t polled_ns, pressure_ns; /* when; CLOCK_MONOTONIC */
	uint64_t active_ns; /* when something recorded ran last; 0: never */
	bool has_markers, has_stall;
	trigger_fn *fire;
	void *ctx;
};

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
