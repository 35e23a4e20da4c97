/* SPDX-License-Identifier: MIT */
/* Builds the filter of a recording from what a user said: pids, users, cgroups, names, CPUs. */
#ifndef PROF_LIB_LIVE_PROCESS_FILTER_H
#define PROF_LIB_LIVE_PROCESS_FILTER_H

#include <stdint.h>

#include "lib/base/error.h"
#include "lib/live/bpf/task_filter.h"

void filter_release(struct filter *f);

int filter_add_pid(struct filter *f, uint32_t pid, struct error *err);
/* The thread, and with it its process: other threads of it are still listed. */
int filter_add_tid(struct filter *f, uint32_t tid, struct error *err);
/* A number or a user's name. */
int filter_add_uid(struct filter *f, const char *user, struct error *err);
/* A folder of a cgroup file system, or a path below where that is mounted. */
int filter_add_cgroup(struct filter *f, const char *path, struct error *err);
/* "0-3,8", whatever CPUs there are. -EINVAL: it is no such list. */
int filter_set_cpus(struct filter *f, const char *list, struct error *err);
/* -ENODEV where one of them is not online. */
int filter_check_cpus(const struct filter *f, struct error *err);

/*
 * Adds a pattern for the names of tasks: * is anything, ? a character, [a-z] and [!a-z] one of
 * some, \ takes the next one's meaning. One without any of these is cut where the kernel cuts
 * names. -EINVAL: it is no pattern; -E2BIG: all of them together are too long.
 */
int name_set_add(struct name_set *set, const char *pattern, struct error *err);

#endif
