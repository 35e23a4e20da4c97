/* SPDX-License-Identifier: MIT */
/* The root folder of a process, where that is another than ours: a container's, a chroot's. */
#ifndef PROF_LIB_LIVE_PROCESS_PROCESS_ROOT_H
#define PROF_LIB_LIVE_PROCESS_PROCESS_ROOT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/file_set.h"
#include "lib/live/process/live_process.h"

/*
 * Keeps it under that id of a module, so that files can be looked for there when the process is
 * gone. With `has_mounts`, with all that is mounted below it: the mount namespace lives on for as
 * long as the set, and what it has mounted is busy.
 */
void process_root_keep_for_module(struct file_set *files, uint32_t id, uint32_t pid,
				  bool has_mounts);

/* The roots of processes that make code themselves. Children are taken to do so, too. */
struct process_roots {
	struct file_set *files; /* borrowed */
	bool has_mounts;
	struct process_state state;
};

/* It listens to the processes, which are freed before it. */
void process_roots_init(struct process_roots *r, struct live_processes *processes,
			struct file_set *files, bool has_mounts);
/* Keeps the process's under its pid, and the same for those that it forks from now on. */
void process_roots_keep(const struct process_roots *r, struct live_process *process);

#endif
