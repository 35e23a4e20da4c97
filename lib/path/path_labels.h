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
