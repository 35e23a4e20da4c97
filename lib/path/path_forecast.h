/* SPDX-License-Identifier: MIT */
/*
 * Predicts what would shorten a recorded command, by replays of its threads: functions that take
 * half their time, locks that nobody waits for, more CPUs. A function's share of each stretch of
 * running time is that of its samples there; of stretches with few samples, that of all which the
 * thread begins and ends in the same way.
 */
#pragma once

#include "lib/model/tables/profile.h"
#include "lib/path/thread_timelines.h"

/* A question of the user's. */
struct what_if {
	const char *function;
	double factor; /* of the function's time */
};

/*
 * Adds markers of predictions to a profile whose functions have names: of what_ifs, otherwise of
 * what is heaviest on the path, and of the sums that they need. Does nothing if the profile has no
 * critical path, or the command has too much to replay.
 */
void path_forecast(struct profile *p, const struct timelines *t, const struct what_if *what_ifs,
		   size_t count);

/* A prediction, of a profile's markers. */
struct forecast {
	const char *change; /* "link_all takes half its time" */
	uint64_t ns; /* predicted time of the command */
	/* Time if the path got shorter by all that the change saves on it; 0: unknown. */
	uint64_t path_ns;
};

/* Sums that forecasts need, of markers with these names. */
enum path_sum_kind {
	PATH_SUM_RUNNING, /* of all threads */
	PATH_SUM_REPLAY, /* of the command as it is, alone on the machine */
	PATH_SUM_OWN_QUEUE, /* of the path: queued while the command's own threads ran */
	PATH_SUM_ALONE, /* of the path: ran while no other thread of the command did */
	PATH_SUM_KIND_COUNT,
};

/* Time that threads with this name ran alone, on the path. */
struct path_alone {
	const char *name;
	uint64_t ns;
};

struct forecasts {
	VEC(struct forecast) rows; /* as in the profile */
	VEC(struct path_alone) alone; /* the longest first */
	uint64_t sums[PATH_SUM_KIND_COUNT]; /* ns */
};

/* Reads the markers. The caller releases both lists; texts are the profile's. */
void forecasts_read(const struct profile *p, struct forecasts *f);
