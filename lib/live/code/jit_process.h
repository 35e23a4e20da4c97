/* SPDX-License-Identifier: MIT */
/*
 * A process as it sees itself, for files that it names after itself: its root, its pid there, its
 * user. What is opened in its root is a regular file of its own, or one of root's that everybody
 * may read; links do not lead out.
 */
#ifndef PROF_LIB_LIVE_CODE_JIT_PROCESS_H
#define PROF_LIB_LIVE_CODE_JIT_PROCESS_H

#include <stdint.h>
#include <sys/types.h>

struct jit_process {
	uint32_t pid;
	uint32_t own_pid; /* in its own pid namespace */
	uid_t uid; /* the effective one */
};

/* -ESRCH: it is gone. */
int jit_process_read(struct jit_process *p, uint32_t pid);
/* Its root folder, to be kept beyond its end. A descriptor or a negative errno. */
int jit_process_open_root(const struct jit_process *p);
/* For reading, by its path in the root folder. A descriptor or a negative errno. */
int jit_process_open_file(const struct jit_process *p, int root, const char *path);

#endif
