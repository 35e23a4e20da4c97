// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "bpf/neighbours.bpf.h"

#include "bpf/filter.bpf.h"

__noinline int count_neighbour(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 tgid = task->tgid;
	struct neighbour *known = bpf_map_lookup_elem(&neighbours, &tgid), row = {.ticks = 1};
	__u64 now = bpf_ktime_get_ns();

	if (known) {
		__sync_fetch_and_add(&known->ticks, 1);
		known->last = now;
		return 0;
	}
	row.first = row.last = now;
	row.is_recorder = tgid == own_tgid;
	/* In a pid namespace, processes outside stay nameless. */
	if (!config.pid_inode)
		BPF_CORE_READ_STR_INTO(&row.name, task, group_leader, comm);
	bpf_map_update_elem(&neighbours, &tgid, &row, BPF_NOEXIST);
	return 0;
}
