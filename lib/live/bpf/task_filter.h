/* SPDX-License-Identifier: MIT */
/*
 * Criteria for the tasks to record, in the form evaluated by the programs in the kernel. A task
 * must meet every criterion; it meets one if it matches any of its values (pids, names, ...).
 * Filled in by lib/live/process.
 */
#pragma once

#include "bpf/config.h"
#include "bpf/name_set.h"
#include "lib/live/machine/host.h"

struct container_name {
	char id[64];
	const char *name;
};

/* A zeroed struct passes everything. */
struct filter {
	bool all; /* accept every process, not only tracked ones */
	/* With `all`: tasks that meet the criteria are the subject, as if attached to. */
	bool is_subject;
	bool include_self; /* with `all`: include the recorder */
	bool skip_children; /* do not track children of tracked processes */
	uint32_t criteria; /* set of FILTER_… flags */
	VEC(uint32_t) pids, tids, uids;
	struct name_set process_names, thread_names;
	VEC(uint64_t) cgroups; /* cgroup ids */
	uint32_t cgroup_hierarchy; /* hierarchy of all cgroups; 0: version 2 */
	struct cpu_list cpus; /* CPUs to sample; empty: all */
	/* The user's names of containers, for their processes; borrowed. */
	VEC(struct container_name) containers;
};
