/* SPDX-License-Identifier: MIT */
/* Watches for what --when-exit, --when-file and their like ask a snapshot for. */
#ifndef PROF_CMD_RUN_TRIGGERS_H
#define PROF_CMD_RUN_TRIGGERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/options/last_options.h"
#include "cmd/run/watched_file.h"
#include "lib/base/error.h"
#include "lib/base/identity.h"
#include "lib/stream/record/record.h"

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

/*
 * Begins to watch, as the owner, whose struct stays. Refuses what this kernel does not measure: err
 * and a negative errno.
 */
int triggers_open(struct triggers *t, const struct last_options *options,
		  const struct identity *owner, trigger_fn *fire, void *ctx, struct error *err);
/* Looks at a valid record. */
void triggers_take(struct triggers *t, const struct rec *rec);
/* Looks at what is in no record. `is_paused`: nothing recorded runs. */
void triggers_poll(struct triggers *t, uint64_t now_ns, bool is_paused);
void triggers_release(struct triggers *t);

#endif
