/* SPDX-License-Identifier: MIT */
/*
 * Which tasks a recording is about, in the form that the programs in the kernel evaluate. A task
 * passes when it meets every criterion; of several pids, names and so on, one. lib/live/process
 * fills it in.
 */
#ifndef PROF_LIB_LIVE_BPF_TASK_FILTER_H
#define PROF_LIB_LIVE_BPF_TASK_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/config.h"
#include "bpf/name_set.h"
#include "lib/base/vec.h"
#include "lib/live/machine/cpu_list.h"

/* A zeroed struct lets everything pass. */
struct filter {
	bool all; /* every process, not only those that are tracked */
	bool include_self; /* with all: the recorder, too */
	bool skip_children; /* of the processes that are tracked */
	uint32_t criteria; /* FILTER_… */
	VEC(uint32_t) pids, tids, uids;
	struct name_set process_names, thread_names;
	VEC(uint64_t) cgroups; /* their ids */
	uint32_t cgroup_hierarchy; /* of all of them; 0: version 2 */
	struct cpu_list cpus; /* that are sampled; none: all */
};

#endif
