/* SPDX-License-Identifier: MIT */
/* Schemas of the markers that a session makes from other records. */
#ifndef PROF_LIB_SESSION_TASKS_OWN_MARKERS_H
#define PROF_LIB_SESSION_TASKS_OWN_MARKERS_H

#include "lib/profile/profile.h"

/* Ids of their schemas. */
enum own_marker {
	OWN_EXEC,
	OWN_RENAME,
	OWN_CGROUP,
	OWN_LOST, /* samples */
	OWN_LOST_EVENTS, /* about processes or mappings */
	OWN_THROTTLED, /* the kernel did not sample on that CPU */
	OWN_MARKER_COUNT,
};

/* Numbers of their fields. */
enum {
	EXEC_PROGRAM = 0,
	EXEC_ARGUMENTS, /* line for people; omits a program name that says nothing more */
	EXEC_FOLDER,
	RENAME_NAME = 0,
	CGROUP_PATH = 0,
	LOSS_COUNT = 0, /* samples or events; for throttling, the number of times */
	LOSS_CPU,
	LOSS_REASON, /* reason, or the event */
};

/* Call before the profile has any other schema. */
void own_markers_register(struct profile *p);

#endif
