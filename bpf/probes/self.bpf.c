// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Finds the recorder's own ids in the kernel. */
#include "bpf/filter.bpf.h"
#include "bpf/filter_match.bpf.h"

static __always_inline void find_cgroup_subsystem(struct task_struct *task)
{
	struct css_set *set = BPF_CORE_READ(task, cgroups);
	__u32 count = bpf_core_field_size(set->subsys) / sizeof(void *);

	for (__u32 i = 0; i < 32; i++) {
		struct cgroup_subsys_state *state = NULL;

		if (i >= count)
			break;
		bpf_probe_read_kernel(&state, sizeof(state),
				      (void *)set + bpf_core_field_offset(set->subsys) +
					      i * sizeof(state));
		if ((__u32)BPF_CORE_READ(state, cgroup, root, hierarchy_id) ==
		    config.cgroup_hierarchy)
			cgroup_subsystem = i;
	}
}

/*
 * Run once by the recorder. Sets its tgid and the depth of its pid namespace, which /proc does not
 * show.
 */
SEC("raw_tp")
int find_self(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();

	own_pid_level = BPF_CORE_READ(task, thread_pid, level);
	own_tgid = task->tgid;
	if (config.cgroup_hierarchy)
		find_cgroup_subsystem(task);
	return 0;
}
