/* SPDX-License-Identifier: MIT */
/* Keeps root folders of processes that differ from the recorder's, as in containers and chroots. */
#pragma once

#include "lib/code/files/file_set.h"
#include "lib/live/process/live_process.h"

/*
 * Writes a path into `path`, which is empty, from its names, innermost first, each terminated.
 * `is_cut`: outer names are missing, so the path begins with an ellipsis.
 */
void path_names_join(struct strbuf *path, const char *names, size_t size, bool is_cut);

/*
 * Keeps the root under a module's id, to find files there after the process has ended. With
 * `has_mounts`, includes everything mounted below it: the mount namespace then lives as long as the
 * set, and its mounts stay busy.
 */
void process_root_keep_for_module(struct file_set *files, uint32_t id, uint32_t pid,
				  bool has_mounts);

/* Roots of processes that generate or interpret code. Their children are assumed to do the same. */
struct process_roots {
	struct file_set *files; /* borrowed */
	bool has_mounts;
	struct process_state state;
};

/* Registers a listener with `processes`, which must be freed first. */
void process_roots_init(struct process_roots *r, struct live_processes *processes,
			struct file_set *files, bool has_mounts);
/* Keeps the root under the pid of the process, and of each process that it forks from now on. */
void process_roots_keep(const struct process_roots *r, struct live_process *process);
/* The same, unless it was called for this process before. */
void process_roots_keep_once(const struct process_roots *r, struct live_process *process);
