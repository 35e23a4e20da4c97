/* SPDX-License-Identifier: MIT */
/* The markers that a session makes itself, of what records say besides: their schemas. */
#ifndef PROF_LIB_SESSION_OWN_MARKERS_H
#define PROF_LIB_SESSION_OWN_MARKERS_H

#include "lib/profile/profile.h"

/* These are the ids of their schemas. */
enum own_marker {
	OWN_EXEC,
	OWN_RENAME,
	OWN_CGROUP,
	OWN_LOST, /* samples */
	OWN_LOST_EVENTS, /* about processes or mappings */
	OWN_THROTTLED, /* the kernel did not sample on that CPU */
	OWN_MARKER_COUNT,
};

/* Their fields, by number. */
enum {
	EXEC_PROGRAM = 0,
	EXEC_ARGUMENTS, /* a line for people; without the program where that says nothing more */
	EXEC_FOLDER,
	RENAME_NAME = 0,
	CGROUP_PATH = 0,
	LOSS_COUNT = 0, /* samples, events; how often the kernel stopped */
	LOSS_CPU,
	LOSS_REASON, /* or which event */
};

/* Of a profile that has no schema yet. */
void own_markers_register(struct profile *p);

#endif
