// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Finds the tasks that run when recording begins. User space reads enter_tasks until it enters no
 * more processes, then list_tasks. Events of a process are recorded once it is in the filter, so
 * nothing is missed in between, even if it forks.
 */
#include "bpf/filter.bpf.h"
#include "bpf/filter_match.bpf.h"
#include "bpf/record.h"
#include "bpf/track.bpf.h"
#include "bpf/wait.bpf.h"

__u32 entered_tasks = 0; /* number of processes enter_tasks has entered so far */

static __always_inline bool parent_is_tracked(struct task_struct *task)
{
	__u32 tgid = BPF_CORE_READ(task, real_parent, tgid);
	struct tracked_process *process = bpf_map_lookup_elem(&tracked, &tgid);

	return process &&
	       process->start == BPF_CORE_READ(task, real_parent, group_leader, start_time);
}

static __always_inline bool is_to_be_entered(struct task_struct *task, __u32 tgid, __u32 pid)
{
	/* The command is recorded from its exec on. */
	if (config.record_all)
		return !is_recorder(tgid) && !bpf_map_lookup_elem(&pending_exec, &pid);
	return bpf_map_lookup_elem(&wanted, &pid) ||
	       (!config.skip_children && !is_recorder(tgid) && parent_is_tracked(task));
}

SEC("iter/task")
int enter_tasks(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct task_ids ids;
	__u32 pid, tid;

	if (!task)
		return 0;
	ids = copy_ids(task);
	if (ids.pid != ids.tgid || find_tracked(task, ids.tgid))
		return 0;
	/* Skip zombies. */
	if (!BPF_CORE_READ(task, signal, live.counter))
		return 0;
	task_pids(task, ids, &pid, &tid);
	if (!is_to_be_entered(task, ids.tgid, pid))
		return 0;
	track(task, ids.tgid, task->self_exec_id, bpf_ktime_get_ns(), cgroups_of(task), NULL);
	entered_tasks++;
	return 0;
}

/* Writes a name record for each thread, with the time its process was entered. */
SEC("iter/task")
int list_tasks(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct tracked_process *process;
	struct rec_name name = {};
	struct task_ids ids;

	if (!task)
		return 0;
	ids = copy_ids(task);
	process = find_tracked(task, ids.tgid);
	/* Later threads were recorded at their fork. */
	if (!process || !process->entered || task->start_time > process->entered)
		return 0;
	rec_init(&name.rec, REC_NAME, sizeof(name), process->entered);
	task_pids(task, ids, &name.rec.pid, &name.rec.tid);
	name.rec.flags = NAME_SCAN | match_flags(task, ids, &name.rec, task->comm);
	if (task->flags & PF_KTHREAD)
		name.rec.flags |= NAME_KERNEL_THREAD;
	remember_tid(ids, name.rec.tid);
	if (config.waits)
		enter_wait_row(task, 0);
	bpf_probe_read_kernel_str(name.name, sizeof(name.name), task->comm);
	bpf_seq_write(ctx->meta->seq, &name, sizeof(name));
	return 0;
}
