/* SPDX-License-Identifier: MIT */
/* Processes that run already and are to be recorded: they are found, and their ends are noticed. */
#ifndef PROF_LIB_LIVE_TARGETS_H
#define PROF_LIB_LIVE_TARGETS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/base/error.h"
#include "lib/base/vec.h"

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
/* Adds every process of that name but this one; -ESRCH where there is none. */
int targets_add_comm(struct targets *t, const char *name, struct error *err);
/* Adds the process whose number is in the file. */
int targets_add_pidfile(struct targets *t, const char *path, struct error *err);
/* Its name now, the caller's to free; its pid where it is gone. */
char *target_name(const struct target *target);
/* Looks which have ended since. True: all of them. */
bool targets_have_ended(struct targets *t);

#endif
