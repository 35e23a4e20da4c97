/* SPDX-License-Identifier: MIT */
/* Where processes live: their control group, and their pid in a pid namespace of their own. */
#ifndef PROF_LIB_LIVE_PROCESS_CONTAINER_WATCH_H
#define PROF_LIB_LIVE_PROCESS_CONTAINER_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/live/process/module_registry.h"

struct container_watch {
	char *own_cgroup; /* the recorder's, which need not be told */
	bool is_any_told; /* from now on also who lives where the recorder does */
};

void container_watch_init(struct container_watch *h);
void container_watch_release(struct container_watch *h);

/*
 * Sends a REC_CONTAINER for the process as it is now, unless it lives with the recorder.
 * is_running: it did so before the recording, and no fork record tells its pid in the namespace.
 * One that is gone is left to what its parent's control group was.
 */
void container_watch_send(struct container_watch *h, uint32_t pid, bool is_running, uint64_t time,
			  record_sink_fn *sink, void *ctx);

/*
 * The path in the text of a /proc/PID/cgroup, see cgroups(7): one that names a container, else that
 * of version 2, else the first of version 1 that is not the root. Points into the text, not
 * terminated; *size may be 0.
 */
const char *container_cgroup(const char *text, size_t *size);
/* The innermost pid in the text of a /proc/PID/status where there are several, else 0. */
uint32_t container_ns_pid(const char *text);

#endif
