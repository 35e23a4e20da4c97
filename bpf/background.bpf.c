// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "bpf/background.bpf.h"

#include "bpf/filter.bpf.h"

static __always_inline void name_background(struct task_struct *task,
					    struct background_process *row)
{
	__u64 start = BPF_CORE_READ(task, mm, arg_start);
	__u64 size = BPF_CORE_READ(task, mm, arg_end) - start;

	row->flags = BPF_CORE_READ(task, group_leader, flags);
	BPF_CORE_READ_STR_INTO(&row->name, task, group_leader, comm);
	bpf_probe_read_kernel_str(row->program, sizeof(row->program),
				  BPF_CORE_READ(task, mm, exe_file, f_path.dentry, d_name.name));
	if (size > sizeof(row->arguments))
		size = sizeof(row->arguments);
	bpf_probe_read_user(row->arguments, size, (void *)start);
}

__noinline int count_background(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 tgid = task->tgid;
	struct background_process *known = bpf_map_lookup_elem(&background_processes, &tgid),
				  row = {.ticks = 1};
	__u64 now = bpf_ktime_get_ns();

	if (known) {
		__sync_fetch_and_add(&known->ticks, 1);
		known->last = now;
		return 0;
	}
	row.first = row.last = now;
	row.is_recorder = tgid == own_tgid;
	/* In a pid namespace, processes outside it stay nameless. */
	if (!config.pid_inode)
		name_background(task, &row);
	bpf_map_update_elem(&background_processes, &tgid, &row, BPF_NOEXIST);
	return 0;
}
