/* SPDX-License-Identifier: MIT */
/*
 * Attaches to processes, and detaches from them, on threads of its own: the kernel takes
 * milliseconds for the former and some 50 for the latter, in which rings would fill up.
 */
#ifndef PROF_LIB_LIVE_INSTRUMENTS_USDT_UPROBE_JOBS_H
#define PROF_LIB_LIVE_INSTRUMENTS_USDT_UPROBE_JOBS_H

#include "lib/live/bpf/uprobe.h"

/* Links that are open at a time. */
#define UPROBE_LINKS_MAX 1024

struct uprobe_jobs;

/* The number of an attachment; it is used again once that is detached. */
typedef uint32_t uprobe_job;
#define NO_UPROBE_JOB UINT32_MAX

/* Flags as in struct uprobe_target. */
struct uprobe_jobs *uprobe_jobs_new(int program, uint32_t flags);
/* Begins to detach from all, but waits only for what is being attached just now. */
void uprobe_jobs_stop(struct uprobe_jobs *j);
/* Detaches from all, and waits for that. NULL is fine. */
void uprobe_jobs_free(struct uprobe_jobs *j);

/*
 * Attaches the process to these places, which are borrowed as the file is. NO_UPROBE_JOB: there are
 * too many links.
 */
uprobe_job uprobe_jobs_attach(struct uprobe_jobs *j, uint32_t pid, int file,
			      const struct uprobe_place *places, size_t count);
void uprobe_jobs_detach(struct uprobe_jobs *j, uprobe_job job);
/* Waits until everything is attached that has to be. */
void uprobe_jobs_wait(struct uprobe_jobs *j);

struct uprobe_jobs_stats {
	uint64_t attached; /* processes' files */
	uint64_t failed; /* places */
	uint64_t left_out; /* processes' files, for which there was no room */
	uint32_t links; /* open just now */
	struct error failure; /* the first one */
};
void uprobe_jobs_get_stats(struct uprobe_jobs *j, struct uprobe_jobs_stats *stats);

#endif
