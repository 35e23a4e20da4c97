/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reports processes that need probes in user code: attachments by pid do not follow forks. `kind`
 * is the kind of a struct rec_usdt_task.
 */
#pragma once

#include "bpf/emit.bpf.h"
#include "bpf/filter.bpf.h"
#include "bpf/live_record.h"

/* The user-space side is woken at once: the process may hit a probe at any time. */
static __always_inline void send_probed_task(__u8 kind, struct task_struct *task,
					     struct task_struct *parent)
{
	struct task_ids ids = copy_ids(task), parent_ids;
	struct rec_usdt_task *rec;
	__u32 tid;

	rec = emit_reserve_event(kind, sizeof(*rec));
	if (!rec)
		return;
	task_pids(task, ids, &rec->rec.pid, &rec->rec.tid);
	rec->parent_pid = rec->reserved = 0;
	if (parent) {
		parent_ids = copy_ids(parent);
		task_pids(parent, parent_ids, &rec->parent_pid, &tid);
	}
	emit_submit(rec, BPF_RB_FORCE_WAKEUP);
}

static __always_inline void send_probed_fork(__u8 kind, struct task_struct *parent,
					     struct task_struct *child)
{
	__u32 tgid = BPF_CORE_READ(parent, tgid), child_tgid = BPF_CORE_READ(child, tgid);

	if (child_tgid != tgid && !config.skip_children && find_tracked(parent, tgid))
		send_probed_task(kind, child, parent);
}

/* Reports an exec by a thread other than the first, which disappears along with its attachments. */
static __always_inline void send_probed_exec(__u8 kind, struct task_struct *task, __u32 old_pid)
{
	__u32 tgid = BPF_CORE_READ(task, tgid);

	if (old_pid != tgid && find_tracked(task, tgid))
		send_probed_task(kind, task, NULL);
}

/* The programs of an object that needs these reports. */
#define PROBED_TASKS(on_fork, on_exec, kind) \
	SEC("raw_tp/sched_process_fork") \
	int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child) \
	{ \
		send_probed_fork(kind, parent, child); \
		return 0; \
	} \
\
	SEC("raw_tp/sched_process_exec") \
	int BPF_PROG(on_exec, struct task_struct *task, __u32 old_pid) \
	{ \
		send_probed_exec(kind, task, old_pid); \
		return 0; \
	}
