/* SPDX-License-Identifier: MIT */
/* Finds running processes to record, and notices when they end. */
#pragma once

#include "bpf/name_set.h"
#include "lib/base/base.h"

/* Returns the process to which a thread belongs; 0 if there is no such thread. */
pid_t process_of_thread(pid_t tid);

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
