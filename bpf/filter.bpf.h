/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Decides in the kernel which tasks are recorded and translates their pids for user space. */
#pragma once

#include "bpf/config.h"
#include "bpf/kernel.h"

/*
 * Tracked processes, by tgid of the initial pid namespace. The value's start time distinguishes a
 * process from a later one with the same pid. Never an LRU: new processes must not push out tracked
 * ones.
 */
struct tracked {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1); /* the maximum number of tasks, set by user space */
	__type(key, __u32);
	__type(value, struct tracked_process);
};

/* Pids in user space's namespace that a scan enters into the filter. */
struct wanted {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1); /* kernel.pid_max, set by user space */
	__type(key, __u32);
	__type(value, __u32);
};

/* Pids in user space's namespace, to be tracked from their next exec on. */
struct pending_exec {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, __u32);
};

/*
 * Tids of the initial pid namespace → the recorder's, if they differ: an exiting thread gives up
 * its number before it has finished.
 */
struct own_tids {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1); /* the maximum number of tasks, set by user space */
	__type(key, __u32);
	__type(value, __u32);
};

extern const volatile struct bpf_config config;
extern __u32 own_pid_level, own_tgid;
extern struct tracked tracked SEC(".maps");
extern struct wanted wanted SEC(".maps");
extern struct pending_exec pending_exec SEC(".maps");
extern struct own_tids own_tids SEC(".maps");

/*
 * Programs differ in how they may read a task. Pointers from bpf_get_current_task_btf() and
 * iterators are dereferenced directly. Tracepoints pass an address, whose fields must be copied.
 * Pointers inside a task are always followed by copying: for each direct access, the verifier
 * searches all type names of the kernel.
 */

/* A task's ids in the initial pid namespace. */
struct task_ids {
	__u32 tgid, pid;
};

static __always_inline struct task_ids copy_ids(struct task_struct *task)
{
	return (struct task_ids){
		.tgid = BPF_CORE_READ(task, tgid),
		.pid = BPF_CORE_READ(task, pid),
	};
}

/* Returns the filter's entry of the task's process; NULL: not tracked. */
static __always_inline struct tracked_process *find_tracked(struct task_struct *task, __u32 tgid)
{
	struct tracked_process *process = bpf_map_lookup_elem(&tracked, &tgid);

	if (!process)
		return NULL;
	return process->start == BPF_CORE_READ(task, group_leader, start_time) ? process : NULL;
}

/* find_tracked() for the current task. Runs at every tick, so it avoids copies for most tasks. */
static __always_inline struct tracked_process *find_current(struct task_struct *task)
{
	__u32 tgid = task->tgid;
	struct tracked_process *process;

	if ((__u32)task->pid != tgid)
		return find_tracked(task, tgid);
	process = bpf_map_lookup_elem(&tracked, &tgid);
	return process && process->start == task->start_time ? process : NULL;
}

/* Is left out, unless it was asked for. */
static __always_inline bool is_recorder(__u32 tgid)
{
	return !config.include_self && tgid == own_tgid;
}

/*
 * Returns the process's pid in the upper half and the tid in the lower one, in the recorder's
 * namespace. They come from the two struct pid, or from the pids remembered for the ids.
 */
extern __u64 own_pids(__u64 process_pid, __u64 thread_pid, __u32 tgid, __u32 pid);

/* Returns the pid in the innermost namespace; 0 if that is the recorder's. */
static __always_inline __u32 ns_pid_number(const struct pid *pid)
{
	struct upid upid = {};
	__u32 level = BPF_CORE_READ(pid, level);
	const void *at;

	if (level <= own_pid_level)
		return 0;
	at = (const void *)pid + bpf_core_field_offset(struct pid, numbers) +
	     level * bpf_core_type_size(struct upid);
	if (bpf_probe_read_kernel(&upid, bpf_core_type_size(struct upid), at))
		return 0;
	return upid.nr;
}

/* Sets the process's pid and the tid, both in the recorder's namespace. */
static __always_inline void task_pids(struct task_struct *task, struct task_ids ids, __u32 *pid,
				      __u32 *tid)
{
	__u64 pids;

	if (!config.pid_inode) {
		*pid = ids.tgid;
		*tid = ids.pid;
		return;
	}
	pids = own_pids((__u64)BPF_CORE_READ(task, signal, pids[PIDTYPE_TGID]),
			(__u64)BPF_CORE_READ(task, thread_pid), ids.tgid, ids.pid);
	*pid = pids >> 32;
	*tid = (__u32)pids;
}

/* Must be called while the task still has its tid. */
static __always_inline void remember_tid(struct task_ids ids, __u32 tid)
{
	if (config.pid_inode)
		bpf_map_update_elem(&own_tids, &ids.pid, &tid, BPF_ANY);
}

static __always_inline void forget_tid(struct task_ids ids)
{
	if (config.pid_inode)
		bpf_map_delete_elem(&own_tids, &ids.pid);
}
