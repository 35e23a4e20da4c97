/* SPDX-License-Identifier: MIT */
/* Records with a time that no clock can show, such as perf's sums of waits (--off-cpu). */
#ifndef PROF_LIB_RECORDING_PERF_DATA_PERF_UNTIMED_H
#define PROF_LIB_RECORDING_PERF_DATA_PERF_UNTIMED_H

#include "lib/recording/perf_data/perf_file.h"

/*
 * Gives each such record, with the key CLOCK_NO_TIME, a time in the recording: samples go to the
 * end of their thread, just before it exits, all others to the end of the file. To be called before
 * the records are sorted.
 */
void perf_untimed_place(struct perf_file *f);

#endif
