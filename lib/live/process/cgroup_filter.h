/* SPDX-License-Identifier: MIT */
/* Control groups, version 1 and 2, identified as the kernel identifies them. */
#ifndef PROF_LIB_LIVE_PROCESS_CGROUP_FILTER_H
#define PROF_LIB_LIVE_PROCESS_CGROUP_FILTER_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"

struct cgroup_id {
	uint64_t id; /* unique within its hierarchy */
	uint32_t hierarchy; /* number in /proc/PID/cgroup; 0: version 2 */
};

/*
 * Finds a cgroup by `path`: a folder of a cgroup file system, or a version 2 path as in
 * /proc/PID/cgroup, which is looked up below the mount of version 2.
 */
int cgroup_find(const char *path, struct cgroup_id *found, struct error *err);

/* Returns the folder that is meant by such a path; the caller frees. NULL with err. */
char *cgroup_folder(const char *path, struct error *err);

/*
 * Returns the number of the hierarchy that has this controller, given the text of /proc/PID/cgroup;
 * 0 for none.
 */
uint32_t cgroup_hierarchy_of(const char *text, const char *controller);
/*
 * Returns the controllers ("cpu,cpuacct", or "name=systemd") of the cgroup file system on a device,
 * given the text of /proc/PID/mountinfo; NULL for none. The caller frees.
 */
char *cgroup_controllers_of(const char *text, uint32_t major, uint32_t minor);
/*
 * Returns the mount point of the version 1 hierarchy with this controller ("": of version 2), given
 * the same text; NULL for none. *root, unless NULL, is the group that it shows, as in
 * /proc/PID/cgroup. The caller frees both.
 */
char *cgroup_mount_of(const char *text, const char *controller, char **root);
/* Returns the mount point of version 2, given the same text; NULL for none. The caller frees. */
char *cgroup2_mount_of(const char *text);
/*
 * Returns the mount point of the nth hierarchy of version 1 that has controllers; NULL: there are
 * no more. The caller frees.
 */
char *cgroup1_mount_of(const char *text, size_t nth);

#endif
