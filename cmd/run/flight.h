/* SPDX-License-Identifier: MIT */
/*
 * The flight recorder, --last: keeps only the end of a recording, in memory, and writes it when a
 * snapshot is requested. Separate processes write and name it, with the rights of the invoking
 * user, so that recording never waits for them.
 */
#pragma once

#include "cmd/options/live_options.h"
#include "lib/base/identity.h"
#include "lib/stream/record/records.h"

/*
 * A file polled several times a second in a thread of its own: its file system may hang, which must
 * not delay the recording or its end.
 */

struct watched_file;

/* Evaluates the triggers: --when-exit, --when-file and similar options. */

/* State of one trigger. */
struct trigger_state {
	const struct trigger *trigger;
	bool has_fired; /* the trigger has fired, and the stall still lasts */
	uint64_t total_us; /* total pressure at the last poll */
	struct watched_file *file; /* owned; NULL: the trigger does not watch a file */
};

struct trigger_schema {
	uint32_t id;
	char *name;
};

/* Called with the reason for a snapshot. */
typedef void trigger_fn(void *ctx, const char *reason);

/* Zeroed is empty. */
struct triggers {
	VEC(struct trigger_state) rows;
	VEC(struct trigger_schema)
	schemas; /* schemas by id; only used if a trigger watches markers */
	uint64_t polled_ns, pressure_ns; /* CLOCK_MONOTONIC times of the last polls */
	uint64_t active_ns; /* time at which a recorded task last ran; 0: never */
	bool has_markers, has_stall;
	trigger_fn *fire;
	void *ctx;
};

struct child;
struct pipeline;

/* Snapshots are numbered from 1. Requests made before a snapshot is taken share it. */
struct flight {
	uint64_t due_ns; /* time of the next snapshot; 0: none requested */
	struct triggers triggers;
	struct child *child; /* process that writes the snapshot; NULL: none */
	int copying; /* pipe that ends once the child has copied the retained data; -1: none */
	char *path; /* path of the snapshot being written, or of the last one */
	uint64_t kept_ns; /* length of the snapshot */
	uint64_t triggered_ns; /* time at which a trigger last fired */
	/* Numbers of the last snapshot requested, begun and finished. */
	uint32_t asked, taken, ended;
	bool has_failed; /* the last finished snapshot failed */
};

#define FLIGHT_INIT ((struct flight){.copying = -1})

/* Prepares the flight recorder if the options enable it. Refuses paths that cannot be written. */
int flight_open(struct pipeline *p, struct error *err);
/*
 * Requests a snapshot, taken --after from now, and marks this moment in the recording. Returns its
 * number; 0 without --last.
 */
uint32_t flight_ask(struct pipeline *p, const char *reason);
/* Checks a record against the triggers. */
void flight_take(struct pipeline *p, const struct rec *rec);
/* Takes a due snapshot, and monitors the one being written. Call often. */
void flight_poll(struct pipeline *p);
/* Writes the last snapshot after sampling has ended, and waits for it. */
int flight_finish(struct pipeline *p, struct error *err);
void flight_release(struct flight *f);
