/* SPDX-License-Identifier: MIT */
/*
 * Attaches a program to places in the files that recorded processes map, in these processes only:
 * otherwise, every process of the machine with the file would trap. A file is read once a process
 * has mapped it. Files already read are attached to new processes before these map them.
 */
#pragma once

#include "bpf/live_record.h"
#include "lib/live/bpf/uprobe.h"
#include "lib/live/instruments/usdt/usdt_probes.h"
#include "lib/live/tracker.h"

/*
 * Attaches to processes and detaches from them on separate threads: the kernel takes milliseconds
 * to attach and some 50 ms to detach, during which rings would fill up.
 */

/* Maximum simultaneously open links. */
#define UPROBE_LINKS_MAX 2048

struct uprobe_jobs;

/* Number of an attachment, reused after the attachment is detached. */
typedef uint32_t uprobe_job;
#define NO_UPROBE_JOB UINT32_MAX

/* Waits until all requested attachments are made. */
void uprobe_jobs_wait(struct uprobe_jobs *j);

struct uprobe_jobs_stats {
	uint64_t attached; /* number of process files with probes */
	uint64_t failed; /* number of places that failed */
	uint64_t left_out; /* number of process files without room for their probes */
	uint32_t links; /* number of links currently open */
	struct error failure; /* first failure */
};
void uprobe_jobs_get_stats(struct uprobe_jobs *j, struct uprobe_jobs_stats *stats);

struct probe_attachment {
	uint32_t pid, file;
	uid_t user; /* owner of the process */
	uint32_t links; /* its share of the links */
	uprobe_job job;
};

/* The owner sets probes.settings, and may set probes.read; the rest is initially zeroed. */
struct probed_processes {
	struct usdt_probes probes;
	struct uprobe_jobs *jobs; /* NULL: not created yet */
	int layouts_map; /* kernel map of layouts; -1: the program needs none */
	uint32_t stored; /* number of layouts stored in the kernel */
	VEC(struct probe_attachment) attachments;
	struct user_budget links; /* shares of the owners of processes */
	VEC(uint8_t) modules; /* enum module_state by module */
};

/* Starts the threads that attach this program; flags as in struct uprobe_target. */
void probed_processes_begin(struct probed_processes *p, int program, uint32_t flags,
			    int layouts_map);
/* Follows the processes of the tracker, which is borrowed. */
void probed_processes_watch(struct probed_processes *p, struct tracker *tracker);
/*
 * Attaches to the probes of a file used only by recorded processes, in all processes at once,
 * including future ones, which then lose nothing. `like` lacks file and places. Returns 0 or -errno
 * with err.
 */
int probed_processes_attach_all(struct probed_processes *p, int fd,
				const struct uprobe_target *like, struct uprobe_links *links,
				struct error *err);
/* Handles a fork, or a process that has lost its attachments. */
void probed_processes_task(struct probed_processes *p, const struct rec_usdt_task *task);
/* Detaches everything from the process. */
void probed_processes_forget(struct probed_processes *p, uint32_t pid);
/* Returns whether a module mapped by some process so far has such places in its file. */
bool probed_processes_have(const struct probed_processes *p, uint32_t module_id);
/* Appends the users whose probes were left out, as user_budget_list_refused() does. */
void probed_processes_list_refused(const struct probed_processes *p, struct strbuf *out);
/* Begins to detach from everything. */
void probed_processes_stop(struct probed_processes *p);
/* Waits until everything is detached. */
void probed_processes_release(struct probed_processes *p);
