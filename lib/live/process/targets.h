/* SPDX-License-Identifier: MIT */
/* Processes that run already and are to be recorded: they are found, and their ends are noticed. */
#ifndef PROF_LIB_LIVE_PROCESS_TARGETS_H
#define PROF_LIB_LIVE_PROCESS_TARGETS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/name_set.h"
#include "lib/base/error.h"
#include "lib/base/vec.h"

/* The process that a thread belongs to; 0: there is no such thread. */
pid_t process_of_thread(pid_t tid);

struct target {
	pid_t pid;
	int fd; /* readable when it has ended; -1 once that was noticed */
};

/* A zeroed struct is an empty set. */
struct targets {
	VEC(struct target) rows;
	size_t alive;
};

void targets_release(struct targets *t);
/*
 * Adds a process; one that is there already only once. -ESRCH where it has ended, or never was,
 * -EINVAL where the number is that of a thread.
 */
int targets_add(struct targets *t, pid_t pid, struct error *err);
/*
 * Adds every process whose name is in the set, but this one; -ESRCH where there is none, which
 * `text` names.
 */
int targets_add_names(struct targets *t, const struct name_set *names, const char *text,
		      struct error *err);
/* Adds the process whose number is in the file. */
int targets_add_pidfile(struct targets *t, const char *path, struct error *err);
/* Its name now, the caller's to free; its pid where it is gone. */
char *target_name(const struct target *target);
/* Looks which have ended since. True: all of them. */
bool targets_have_ended(struct targets *t);

#endif
