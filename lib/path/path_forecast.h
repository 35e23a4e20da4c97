/* SPDX-License-Identifier: MIT */
/*
 * Predicts what would shorten a recorded command by replaying its threads: with functions that take
 * half their time, with locks that are never contended, with more CPUs. A function's share of a
 * stretch of running time is its share of the samples there; for stretches with few samples, its
 * share in all stretches that the thread begins and ends in the same way.
 */
#pragma once

#include "lib/model/tables/profile.h"
#include "lib/path/path_weights.h"
#include "lib/path/thread_timelines.h"

/* A change whose effect is to be predicted. */
struct what_if {
	const char *function;
	double factor; /* multiplies the function's time */
};

/*
 * Adds prediction markers to a symbolized profile: of what_ifs or, if there are none, of the
 * heaviest functions and locks on the path; also the sums that readers need. Does nothing if the
 * profile has no critical path or the command is too large to replay.
 */
void path_forecast(struct profile *p, const struct timelines *t, const struct what_if *what_ifs,
		   size_t count);

/* A prediction, read from a profile's marker. Times are those without background load. */
struct forecast {
	const char *change; /* "link_all takes half its time" */
	uint64_t ns; /* predicted time of the command */
	uint64_t unchanged_ns; /* time of the unchanged command; not 0 */
	/* Time if the path got shorter by all that the change saves on it; 0: unknown. */
	uint64_t path_ns;
};

/* Path time in which threads with this name ran alone. */
struct path_alone {
	const char *name;
	uint64_t ns;
};

struct forecasts {
	VEC(struct forecast) rows; /* in the profile's order */
	VEC(struct path_alone) alone; /* longest first */
	uint64_t sums[PATH_SUM_KIND_COUNT]; /* ns */
};

/* Reads the markers. The caller releases both lists; strings belong to the profile. */
void forecasts_read(const struct profile *p, struct forecasts *f);
