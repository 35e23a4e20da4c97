/* SPDX-License-Identifier: MIT */
#include "lib/model/tables/overhead.h"

const char *const overhead_fields[OVERHEAD_FIELD_COUNT] = {
	[OVERHEAD_MEAN] = "meanOverhead",
	[OVERHEAD_MAX] = "maxOverhead",
	[OVERHEAD_MIN] = "minOverhead",
	[OVERHEAD_MEAN_CLEANING] = "meanCleaning",
	[OVERHEAD_MAX_CLEANING] = "maxCleaning",
	[OVERHEAD_MIN_CLEANING] = "minCleaning",
	[OVERHEAD_MEAN_COUNTER] = "meanCounter",
	[OVERHEAD_MAX_COUNTER] = "maxCounter",
	[OVERHEAD_MIN_COUNTER] = "minCounter",
	[OVERHEAD_MEAN_INTERVAL] = "meanInterval",
	[OVERHEAD_MAX_INTERVAL] = "maxInterval",
	[OVERHEAD_MIN_INTERVAL] = "minInterval",
	[OVERHEAD_MEAN_LOCKINGS] = "meanLockings",
	[OVERHEAD_MAX_LOCKINGS] = "maxLockings",
	[OVERHEAD_MIN_LOCKINGS] = "minLockings",
	[OVERHEAD_MEAN_THREAD] = "meanThread",
	[OVERHEAD_MAX_THREAD] = "maxThread",
	[OVERHEAD_MIN_THREAD] = "minThread",
	[OVERHEAD_DURATIONS] = "overheadDurations",
	[OVERHEAD_SHARE] = "overheadPercentage",
	[OVERHEAD_PROFILED] = "profiledDuration",
	[OVERHEAD_SAMPLINGS] = "samplingCount",
};

const char *const recording_moments[MOMENT_COUNT] = {
	[MOMENT_ARMED] = "armed_ms",
	[MOMENT_FIRST_TICK] = "first_tick_ms",
	[MOMENT_STOPPED] = "stopped_ms",
	[MOMENT_TABLES] = "unwind_tables",
	[MOMENT_LOST_SAMPLES] = "lost_samples",
	[MOMENT_LOST_EVENTS] = "lost_events",
};
