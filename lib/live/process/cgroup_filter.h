/* SPDX-License-Identifier: MIT */
/* Control groups of version 1 and 2, identified as in the kernel. */
#pragma once

#include "lib/base/base.h"

/* Finds the control groups of services and containers, and the processes in a group. */

/* Matches the name of a folder, "nginx.service". */
typedef bool cgroup_match_fn(const char *name, const char *wanted);

/* True for the group of this systemd unit, "nginx.service" or "nginx". */
bool cgroup_is_unit(const char *name, const char *unit);
/*
 * True for the group of the container with this id, id prefix or name. Supports the names given by
 * Docker, Podman, CRI-O, containerd, LXC and systemd.
 */
bool cgroup_is_container(const char *name, const char *id);

/*
 * Searches the mounted hierarchies, version 2 first, for the uppermost group that matches, and
 * returns its folder, which the caller frees. Returns NULL with -ENOENT in err without a match,
 * -EINVAL for several; `what` names the option in messages.
 */
char *cgroup_search(const char *what, const char *wanted, cgroup_match_fn *match,
		    struct error *err);

/*
 * Calls fn for each folder of the version 2 hierarchy, or of the first one of version 1. `path`
 * begins below the mount point. If fn returns false, its subfolders are skipped.
 */
void cgroup_folders(bool (*fn)(void *ctx, const char *path), void *ctx);

/* Calls fn for each process in that folder's group and in groups below. */
void cgroup_processes(const char *folder, void (*fn)(void *ctx, pid_t pid), void *ctx);

struct cgroup_id {
	uint64_t id; /* unique within the hierarchy */
	uint32_t hierarchy; /* number in /proc/PID/cgroup; 0: version 2 */
};

/*
 * Finds a cgroup by `path`: a folder of a cgroup file system, or a version 2 path as in
 * /proc/PID/cgroup, which is looked up below the mount of version 2.
 */
int cgroup_find(const char *path, struct cgroup_id *found, struct error *err);

/* Returns the folder that such a path denotes, which the caller frees; NULL with err on failure. */
char *cgroup_folder(const char *path, struct error *err);

/*
 * Returns the number of the hierarchy that has this controller, given the text of /proc/PID/cgroup;
 * 0 if none has it.
 */
uint32_t cgroup_hierarchy_of(const char *text, const char *controller);
/*
 * Returns the controllers ("cpu,cpuacct", or "name=systemd") of the cgroup file system on a device,
 * given the text of /proc/PID/mountinfo; NULL if there is none. The caller frees it.
 */
char *cgroup_controllers_of(const char *text, uint32_t major, uint32_t minor);
/*
 * Returns the mount point of the version 1 hierarchy with this controller ("": of version 2), given
 * the same text; NULL if there is none. *root, unless NULL, is the group visible there, as in
 * /proc/PID/cgroup. The caller frees both.
 */
char *cgroup_mount_of(const char *text, const char *controller, char **root);
/*
 * Returns the mount point of version 2, given the same text; NULL if there is none. The caller
 * frees it.
 */
char *cgroup2_mount_of(const char *text);
