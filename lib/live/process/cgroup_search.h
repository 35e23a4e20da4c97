/* SPDX-License-Identifier: MIT */
/* Finds the control groups of services and containers, and the processes in a group. */
#ifndef PROF_LIB_LIVE_PROCESS_CGROUP_SEARCH_H
#define PROF_LIB_LIVE_PROCESS_CGROUP_SEARCH_H

#include <stdbool.h>
#include <sys/types.h>

#include "lib/base/error.h"

/* Judges the name of a folder, "nginx.service". */
typedef bool cgroup_match_fn(const char *name, const char *wanted);

/* Is it the group of this unit of systemd, "nginx.service" or "nginx"? */
bool cgroup_is_unit(const char *name, const char *unit);
/*
 * Is it the group of the container with this id, or of one whose id begins so, or is it called so?
 * Knows the names that Docker, Podman, CRI-O, containerd, LXC and systemd give.
 */
bool cgroup_is_container(const char *name, const char *id);

/*
 * Searches the mounted hierarchies, version 2 first, for the uppermost group that matches, and
 * returns its folder, which the caller frees. NULL with err: -ENOENT without a match, -EINVAL for
 * several; `what` names the option in messages.
 */
char *cgroup_search(const char *what, const char *wanted, cgroup_match_fn *match,
		    struct error *err);

/*
 * Calls fn for each folder of the hierarchy of version 2, or of the first one of version 1. `path`
 * begins below the mount point. False: leave out what is below.
 */
void cgroup_folders(bool (*fn)(void *ctx, const char *path), void *ctx);

/* Calls fn for each process in the group of that folder and below. */
void cgroup_processes(const char *folder, void (*fn)(void *ctx, pid_t pid), void *ctx);

#endif
