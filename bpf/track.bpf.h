/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Entering processes into the filter. */
#ifndef PROF_BPF_TRACK_BPF_H
#define PROF_BPF_TRACK_BPF_H

#include "bpf/filter.bpf.h"
#include "bpf/ring.bpf.h"

/*
 * What is the same for all tasks with the same control groups, and another number for others. It is
 * an address of the kernel's, which may be given again once nobody has those groups.
 */
static __always_inline __u64 cgroups_of(struct task_struct *task)
{
	return (__u64)BPF_CORE_READ(task, cgroups);
}

/* `entered`, `cgroups` and `user`: see struct tracked_process. */
static __always_inline void track(struct task_struct *task, __u32 tgid, __u64 first_exec,
				  __u64 entered, __u64 cgroups, __u64 user)
{
	struct bpf_counters *count = own_counters();
	struct tracked_process process = {
		.start = BPF_CORE_READ(task, group_leader, start_time),
		.first_exec = first_exec,
		.entered = entered,
		.cgroups = cgroups,
		.user = user,
	};

	if (bpf_map_update_elem(&tracked, &tgid, &process, BPF_ANY) && count)
		__sync_fetch_and_add(&count->lost_tracking, 1);
}

#endif
