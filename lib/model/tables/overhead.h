/* SPDX-License-Identifier: MIT */
/* Costs of recording itself, in the fields that front-ends know, and its main moments. */
#ifndef PROF_LIB_MODEL_TABLES_OVERHEAD_H
#define PROF_LIB_MODEL_TABLES_OVERHEAD_H

#include <stdbool.h>
#include <stdint.h>

/* Times in µs; mean, longest and shortest of one thing. */
enum overhead_field {
	OVERHEAD_MEAN, /* a run of any of the recorder's programs in the kernel */
	OVERHEAD_MAX,
	OVERHEAD_MIN,
	OVERHEAD_MEAN_CLEANING, /* unused */
	OVERHEAD_MAX_CLEANING,
	OVERHEAD_MIN_CLEANING,
	OVERHEAD_MEAN_COUNTER, /* a run of the program that reads counters */
	OVERHEAD_MAX_COUNTER,
	OVERHEAD_MIN_COUNTER,
	OVERHEAD_MEAN_INTERVAL, /* nominal time between two ticks */
	OVERHEAD_MAX_INTERVAL,
	OVERHEAD_MIN_INTERVAL,
	OVERHEAD_MEAN_LOCKINGS, /* unused */
	OVERHEAD_MAX_LOCKINGS,
	OVERHEAD_MIN_LOCKINGS,
	OVERHEAD_MEAN_THREAD, /* a run of the clock's program */
	OVERHEAD_MAX_THREAD,
	OVERHEAD_MIN_THREAD,
	OVERHEAD_DURATIONS, /* of all runs */
	OVERHEAD_SHARE, /* those in the profiled time: 1 is a whole CPU */
	OVERHEAD_PROFILED,
	OVERHEAD_SAMPLINGS, /* number of ticks */
	OVERHEAD_FIELD_COUNT
};

enum recording_moment {
	MOMENT_ARMED, /* ms since the start of the profile */
	MOMENT_FIRST_TICK,
	MOMENT_STOPPED,
	MOMENT_TABLES, /* numbers */
	MOMENT_LOST_SAMPLES,
	MOMENT_LOST_EVENTS,
	MOMENT_COUNT
};

/* All values in millionths of their unit. Zeroed: nothing is known. */
struct profile_overhead {
	bool has_statistics, has_log;
	uint64_t statistics[OVERHEAD_FIELD_COUNT];
	uint64_t log[MOMENT_COUNT];
};

/* Names in files. */
extern const char *const overhead_fields[OVERHEAD_FIELD_COUNT];
extern const char *const recording_moments[MOMENT_COUNT];

#endif
