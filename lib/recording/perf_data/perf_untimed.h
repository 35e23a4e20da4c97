/* SPDX-License-Identifier: MIT */
/* Records without a valid time, such as perf's sums of waits (--off-cpu). */
#pragma once

#include "lib/recording/perf_data/perf_file.h"

/*
 * Gives each such record (key CLOCK_NO_TIME) a time in the recording: samples go to the end of
 * their thread, just before its exit, all others to the end of the file. Call before sorting.
 */
void perf_untimed_place(struct perf_file *f);
