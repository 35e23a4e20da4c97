// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The maps and variables that the programs share. */
#include "bpf/program_arguments.bpf.h"
#include "bpf/filter.bpf.h"
#include "bpf/filter_match.bpf.h"
#include "bpf/ring.bpf.h"
#include "bpf/tables.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile struct bpf_config config = {};
const volatile struct name_set process_names = {}, thread_names = {};
/* Of the recorder, set by find_self. */
__u32 own_pid_level = 0; /* depth of its pid namespace */
__u32 own_tgid = 0; /* in the initial one */
/* Where in css_set.subsys config.cgroup_hierarchy is. */
__u32 cgroup_subsystem = 0;

struct rings rings SEC(".maps");
struct counters counters SEC(".maps");
struct tracked tracked SEC(".maps");
struct wanted wanted SEC(".maps");
struct pending_exec pending_exec SEC(".maps");
struct own_tids own_tids SEC(".maps");
struct wanted_tids wanted_tids SEC(".maps");
struct wanted_cgroups wanted_cgroups SEC(".maps");
struct known_cgroups known_cgroups SEC(".maps");
struct exec_scratches exec_scratches SEC(".maps");
struct unwind_shards unwind_shards SEC(".maps");
struct unwind_rules unwind_rules SEC(".maps");
struct unwind_spaces unwind_spaces SEC(".maps");

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
 * Run once by the recorder itself: who it is in the kernel's eyes, and how deep its pid namespace
 * is, which /proc does not tell.
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
