/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Enters processes into the filter. */
#pragma once

#include "bpf/filter.bpf.h"
#include "bpf/ring.bpf.h"

/*
 * Returns a number shared by all tasks with the same control groups and different for others. It is
 * a kernel address, which may be reused once no task has those groups any more.
 */
static __always_inline __u64 cgroups_of(struct task_struct *task)
{
	return (__u64)BPF_CORE_READ(task, cgroups);
}

/* `entered` and `cgroups`: see struct tracked_process. `parent`: for a fork, else NULL. */
static __always_inline void track(struct task_struct *task, __u32 tgid, __u64 first_exec,
				  __u64 entered, __u64 cgroups,
				  const struct tracked_process *parent)
{
	struct bpf_counters *count = own_counters();
	struct tracked_process process = {
		.start = BPF_CORE_READ(task, group_leader, start_time),
		.first_exec = first_exec,
		.entered = entered,
		.cgroups = cgroups,
		.user = parent ? parent->user : 0,
		.code_pages = parent ? parent->code_pages : 0,
	};

	if (bpf_map_update_elem(&tracked, &tgid, &process, BPF_ANY) && count)
		__sync_fetch_and_add(&count->lost_tracking, 1);
}
