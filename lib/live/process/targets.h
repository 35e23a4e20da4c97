/* SPDX-License-Identifier: MIT */
/* Processes to record: finding them, noticing their end, and the filter for them. */
#pragma once

#include "bpf/name_set.h"
#include "lib/base/base.h"
#include "lib/live/bpf/task_filter.h"

/* Finds running processes to record, and notices when they end. */

struct target {
	pid_t pid;
	int fd; /* pidfd, readable once the process has ended; -1 after that was noticed */
};

/* A zeroed struct is an empty set. */
struct targets {
	VEC(struct target) rows;
	size_t alive;
	char *group; /* folder of the common control group; NULL: none */
};

void targets_release(struct targets *t);
/*
 * Adds a process, unless it is in the set. Returns -ESRCH if it has ended or never existed, -EINVAL
 * if the number is that of a thread.
 */
int targets_add(struct targets *t, pid_t pid, struct error *err);
/*
 * Adds every process whose name is in the set, except this one. Returns -ESRCH without a match; the
 * message quotes `text`.
 */
int targets_add_names(struct targets *t, const struct name_set *names, const char *text,
		      struct error *err);
/*
 * Adds the processes, except this one, whose names, programs or command lines match one of the
 * globs in a comma-separated list. Returns -ESRCH without a match.
 */
int targets_add_matches(struct targets *t, const char *list, struct error *err);
/*
 * Adds the processes of a control group and of groups below it; takes over the folder. They have
 * ended when the group is empty, including processes that joined later. Returns -ESRCH if it is
 * empty now.
 */
int targets_add_group(struct targets *t, char *folder, struct error *err);
/* Adds the process whose number is in the file. */
int targets_add_pidfile(struct targets *t, const char *path, struct error *err);
/* Returns its current name, or its pid if it has ended. The caller frees. */
char *target_name(const struct target *target);
/* Notes which processes have ended. True if all have. */
bool targets_have_ended(struct targets *t);

/* Builds the filter of a recording from the user's pids, users, cgroups, names, CPUs. */

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
