/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Decides which tracked tasks are wanted. Unwanted processes are followed but not sampled: they may
 * become wanted.
 */
#pragma once

#include "bpf/config.h"
#include "bpf/filter.bpf.h"
#include "bpf/name_set.h"
#include "bpf/record.h"

#define CGROUP_DEPTH_MAX 32

/* Ids of control groups, all in one hierarchy. */
struct wanted_cgroups {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CGROUPS_MAX);
	__type(key, __u64);
	__type(value, __u32);
};

/* Caches whether a control group is, or is below, a wanted one. Ids are never reused. */
struct known_cgroups {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, __u32);
};

/* Tids in user space's namespace. */
struct wanted_tids {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1); /* like `wanted` */
	__type(key, __u32);
	__type(value, __u32);
};

extern struct wanted_cgroups wanted_cgroups SEC(".maps");
extern struct known_cgroups known_cgroups SEC(".maps");
extern struct wanted_tids wanted_tids SEC(".maps");
extern const volatile struct name_set process_names, thread_names;
extern __u32 cgroup_subsystem;

struct task_name {
	char text[NAME_LENGTH_MAX + 1];
};

/* True if the name is in thread_names (is_thread) or in process_names. */
extern int name_matches(const struct task_name *name, __u32 is_thread);

static __always_inline bool matches_name(const char *from, bool is_thread)
{
	struct task_name name = {};

	bpf_probe_read_kernel_str(name.text, sizeof(name.text), from);
	return name_matches(&name, is_thread);
}

static __always_inline bool matches_uid(struct task_struct *task)
{
	__u32 uid = BPF_CORE_READ(task, cred, euid.val);

	for (__u32 i = 0; i < UIDS_MAX; i++) {
		if (i < config.uid_count && config.uids[i] == uid)
			return true;
	}
	return false;
}

/* Returns the task's control group in config.cgroup_hierarchy. */
static __always_inline struct cgroup *task_cgroup(struct task_struct *task)
{
	struct css_set *set = BPF_CORE_READ(task, cgroups);
	struct cgroup_subsys_state *state = NULL;

	if (!config.cgroup_hierarchy)
		return BPF_CORE_READ(set, dfl_cgrp);
	bpf_probe_read_kernel(&state, sizeof(state),
			      (void *)set + bpf_core_field_offset(set->subsys) +
				      cgroup_subsystem * sizeof(state));
	return BPF_CORE_READ(state, cgroup);
}

struct cgroup_search {
	struct cgroup *cgroup;
	__u32 found;
};

static long check_cgroup(__u32 i, void *ctx)
{
	struct cgroup_search *search = ctx;
	/* A separate variable: CO-RE relocates accesses to kernel types only. */
	struct cgroup *cgroup = search->cgroup;
	__u64 id = BPF_CORE_READ(cgroup, kn, id);

	search->found = bpf_map_lookup_elem(&wanted_cgroups, &id) != NULL;
	search->cgroup = BPF_CORE_READ(cgroup, self.parent, cgroup);
	return search->found || !search->cgroup;
}

static __always_inline bool matches_cgroup(struct task_struct *task)
{
	struct cgroup *cgroup = task_cgroup(task);
	struct cgroup_search search = {.cgroup = cgroup};
	__u64 id = BPF_CORE_READ(cgroup, kn, id);
	__u32 *known = bpf_map_lookup_elem(&known_cgroups, &id);

	if (known)
		return *known;
	bpf_loop(CGROUP_DEPTH_MAX, check_cgroup, &search, 0);
	bpf_map_update_elem(&known_cgroups, &id, &search.found, BPF_ANY);
	return search.found;
}

/* Returns the address of the process's name; `name` is the address of the task's own. */
static __always_inline const char *process_name(struct task_struct *task, struct task_ids ids,
						const char *name)
{
	if (ids.pid == ids.tgid)
		return name;
	return (const char *)BPF_CORE_READ(task, group_leader) +
	       bpf_core_field_offset(struct task_struct, comm);
}

/* True if the task's process is wanted. `pid` is in user space's namespace. */
static __always_inline bool process_matches(struct task_struct *task, struct task_ids ids,
					    __u32 pid, const char *name)
{
	if (config.filter & FILTER_PID && !bpf_map_lookup_elem(&wanted, &pid))
		return false;
	if (config.filter & FILTER_COMM && !matches_name(process_name(task, ids, name), false))
		return false;
	if (config.filter & FILTER_UID && !matches_uid(task))
		return false;
	return !(config.filter & FILTER_CGROUP) || matches_cgroup(task);
}

/* True if the task itself is wanted, regardless of its process. */
static __always_inline bool thread_matches(__u32 tid, const char *name)
{
	if (config.filter & FILTER_TID && !bpf_map_lookup_elem(&wanted_tids, &tid))
		return false;
	return !(config.filter & FILTER_THREAD) || matches_name(name, true);
}

/* Returns rec.flags for a record about the task; `name` is its current or upcoming name. */
static __always_inline __u8 match_flags(struct task_struct *task, struct task_ids ids,
					const struct rec *rec, const char *name)
{
	__u8 flags = 0;

	if (config.filter && !process_matches(task, ids, rec->pid, name))
		flags |= REC_OUTSIDE;
	if (config.filter && !thread_matches(rec->tid, name))
		flags |= REC_UNSAMPLED;
	return flags;
}

/* Sets the record's pids to the task's. Returns match_flags(). */
static __always_inline __u8 match_task(struct task_struct *task, struct task_ids ids,
				       struct rec *rec)
{
	task_pids(task, ids, &rec->pid, &rec->tid);
	return match_flags(task, ids, rec, task->comm);
}

/* Writes a record of a task for the reader of an iterator, if the task is recorded. */
static __always_inline void write_row(struct bpf_iter__task *ctx, struct task_struct *task,
				      struct rec *rec, __u32 size)
{
	struct task_ids ids = copy_ids(task);

	if (find_tracked(task, ids.tgid) && !match_task(task, ids, rec))
		bpf_seq_write(ctx->meta->seq, rec, size);
}
