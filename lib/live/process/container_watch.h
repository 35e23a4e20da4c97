/* SPDX-License-Identifier: MIT */
/* Containers of processes: control groups, their limits, and the pid in a nested pid namespace. */
#pragma once

#include "lib/live/process/cgroup_limits.h"
#include "lib/live/process/module_registry.h"

struct filter;

struct container_watch {
	const struct filter *filter;
	char *own_cgroup; /* group of the recorder, which is not reported */
	struct cpu_limits limits;
	bool is_any_told; /* a container was sent: from now on, also send the recorder's own */
};

/* `filter` contains names of containers; borrowed; NULL: none. */
void container_watch_init(struct container_watch *h, const struct filter *filter);
void container_watch_release(struct container_watch *h);

/*
 * Sends a REC_CONTAINER for the process in its current state, unless it shares the recorder's
 * cgroup and pid namespace. is_running: it started before the recording, so its ns_pid is in no
 * fork record. A process that has ended keeps its parent's container.
 */
void container_watch_send(struct container_watch *h, uint32_t pid, bool is_running, uint64_t time,
			  record_sink_fn *sink, void *ctx);

/*
 * Returns the path in the text of /proc/PID/cgroup, see cgroups(7): the one that names a container,
 * or else that of version 2, or else the first of version 1 that is not the root. Points into the
 * text and is not terminated; *size may be 0.
 */
const char *container_cgroup(const char *text, size_t *size);
/* Returns the innermost pid in the text of /proc/PID/status if it lists several; else 0. */
uint32_t container_ns_pid(const char *text);
