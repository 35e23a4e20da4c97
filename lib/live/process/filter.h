/* SPDX-License-Identifier: MIT */
/* Builds the filter of a recording from the user's pids, users, cgroups, names, CPUs. */
#pragma once

#include "lib/live/bpf/task_filter.h"

void filter_release(struct filter *f);

int filter_add_pid(struct filter *f, uint32_t pid, struct error *err);
/* Accepts the thread, and adds its process, whose other threads are still listed. */
int filter_add_tid(struct filter *f, uint32_t tid, struct error *err);
/* Takes a number or a user's name. */
int filter_add_uid(struct filter *f, const char *user, struct error *err);
/* Takes a folder of a cgroup file system, or a path below its mount point. */
int filter_add_cgroup(struct filter *f, const char *path, struct error *err);
/* Sets the name of that cgroup's container, unless the name is its id or a part of it. */
void filter_name_container(struct filter *f, const char *cgroup, const char *name);
/* Takes "0-3,8", whether or not the CPUs exist. Returns -EINVAL for a malformed list. */
int filter_set_cpus(struct filter *f, const char *list, struct error *err);
/* Returns -ENODEV if one of the CPUs is not online. */
int filter_check_cpus(const struct filter *f, struct error *err);
/*
 * Returns the flags of a record about a process that is still to exec: it matches no filter, and
 * its exec evaluates the filters again.
 */
uint8_t filter_pending_flags(const struct filter *f);

/*
 * Adds a pattern for the names of tasks: * matches anything, ? a character, [a-z] and [!a-z] one of
 * a set; \ escapes. A pattern without any of these is truncated to the kernel's name length.
 * Returns -EINVAL for an invalid pattern, -E2BIG if the patterns together are too long.
 */
int name_set_add(struct name_set *set, const char *pattern, struct error *err);
