/* SPDX-License-Identifier: MIT */
/* Labels in markers of the critical path, by which readers recognize its parts. */
#pragma once

enum path_kind {
	PATH_RUNS,
	PATH_QUEUED, /* runnable, but without a CPU */
	PATH_WAKING, /* was woken, but not queued yet: an idle CPU takes time, and so does an
			interrupt */
	PATH_WAITS, /* waits for something outside: a timer, a disk, an unrecorded process */
	PATH_UNKNOWN, /* not covered by records */
	PATH_KIND_COUNT,
};

/* By enum path_kind. Waits have the labels of wait frames instead: "[futex]". */
extern const char *const path_labels[PATH_KIND_COUNT];

/* Cause of an inferred part. */
#define PATH_INFERRED "inferred: held a lock"

/* Sums about the path and the command, each a marker. */
enum path_sum_kind {
	PATH_SUM_RUNNING, /* running time of all threads */
	PATH_SUM_REPLAY, /* replayed time of the unchanged command, alone on the machine */
	PATH_SUM_OWN_QUEUE, /* path time queued while the command's own threads ran */
	PATH_SUM_ALONE, /* path time in which only one thread of the command ran */
	PATH_SUM_LEFT_OUT, /* the command's first part, of which too many waits followed */
	PATH_SUM_KIND_COUNT,
};

extern const char *const path_sum_names[PATH_SUM_KIND_COUNT];
