/* SPDX-License-Identifier: MIT */
/*
 * A process seen from inside, for files named after its pid: its root folder, its pid in its
 * namespace, its user. Files opened in its root are regular, and owned by its user or, if
 * world-readable, by root; links cannot lead out. A file that was last changed before the process
 * began belongs to an earlier one with this pid.
 */
#pragma once

#include "lib/base/base.h"

struct jit_process {
	uint32_t pid;
	uint32_t own_pid; /* pid in the process's own pid namespace */
	uid_t uid; /* effective uid */
	int64_t start_s; /* its start, seconds since 1970; 0: unknown */
};

/* Returns -ESRCH if the process is gone. */
int jit_process_read(struct jit_process *p, uint32_t pid);
/*
 * Opens the process's root folder, which may be kept after the process has ended. Returns a
 * descriptor or a negative errno.
 */
int jit_process_open_root(const struct jit_process *p);
/* Opens a file for reading by its path in the root. Returns a descriptor or a negative errno. */
int jit_process_open_file(const struct jit_process *p, int root, const char *path);
