/* SPDX-License-Identifier: MIT */
/* Control groups, version 1 and 2, as the kernel's side knows them. */
#ifndef PROF_LIB_LIVE_PROCESS_CGROUP_FILTER_H
#define PROF_LIB_LIVE_PROCESS_CGROUP_FILTER_H

#include <stdint.h>

#include "lib/base/error.h"

struct cgroup_id {
	uint64_t id; /* among those of its hierarchy */
	uint32_t hierarchy; /* as /proc/PID/cgroup numbers it; 0: that of version 2 */
};

/*
 * `path` is a folder of a cgroup file system, or what /proc/PID/cgroup shows for version 2: then it
 * is looked for where that is mounted.
 */
int cgroup_find(const char *path, struct cgroup_id *found, struct error *err);

/*
 * The number of the hierarchy that has this controller in the text of /proc/PID/cgroup; 0: none.
 */
uint32_t cgroup_hierarchy_of(const char *text, const char *controller);
/*
 * The controllers ("cpu,cpuacct", or "name=systemd") of the cgroup file system on that device in
 * the text of /proc/PID/mountinfo; NULL: there is none. Caller frees.
 */
char *cgroup_controllers_of(const char *text, uint32_t major, uint32_t minor);
/* Where version 2 is mounted, from the same text; NULL: nowhere. Caller frees. */
char *cgroup2_mount_of(const char *text);

#endif
