// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Makes records of forks, execs, renames and exits, and keeps the filter up to date. A process
 * leaves the filter when its task is freed, not when it exits: tearing down its address space is
 * work that would be missed otherwise.
 */
#include "bpf/emit.bpf.h"
#include "bpf/program_arguments.bpf.h"
#include "bpf/filter.bpf.h"
#include "bpf/filter_match.bpf.h"
#include "bpf/program_cost.bpf.h"
#include "bpf/ring.bpf.h"
#include "bpf/tables.bpf.h"
#include "bpf/track.bpf.h"

/* Reserves a record about the task in this CPU's ring. NULL: no room (counted). */
static __always_inline void *reserve_event(struct task_struct *task, struct task_ids ids, __u8 kind,
					   const __u32 size)
{
	struct rec *rec = emit_reserve_event(kind, size);

	if (rec)
		task_pids(task, ids, &rec->pid, &rec->tid);
	return rec;
}

/* Gives the child its parent's mappings, so it is unwound from its first instruction on. */
static __always_inline void copy_space(struct task_struct *parent, struct task_ids parent_ids,
				       const struct tracked_process *process,
				       struct task_struct *child, struct task_ids child_ids)
{
	struct unwind_space *space, copy;
	__u32 pid, tid;

	task_pids(parent, parent_ids, &pid, &tid);
	space = bpf_map_lookup_elem(&unwind_spaces, &pid);
	if (!space || space->execs != BPF_CORE_READ(parent, self_exec_id) - process->first_exec)
		return;
	copy = *space;
	copy.execs = 0;
	task_pids(child, child_ids, &pid, &tid);
	bpf_map_update_elem(&unwind_spaces, &pid, &copy, BPF_ANY);
}

/* With record_all: also records processes forked by one that the scan has not reached yet. */
static __always_inline bool is_new_process(__u32 parent_tgid, struct task_struct *child,
					   struct task_ids child_ids)
{
	__u32 pid, tid;

	if (child_ids.tgid == parent_tgid || is_recorder(parent_tgid))
		return false;
	task_pids(child, child_ids, &pid, &tid);
	return pid;
}

static __always_inline void tell_fork(struct task_struct *parent, struct task_struct *child)
{
	struct task_ids parent_ids = copy_ids(parent), ids = copy_ids(child);
	struct tracked_process *process = find_tracked(parent, parent_ids.tgid);
	bool is_process = ids.tgid != parent_ids.tgid;
	struct rec_fork *rec;

	if (!process && !(config.record_all && is_new_process(parent_ids.tgid, child, ids)))
		return;
	if (is_process) {
		if (config.skip_children)
			return;
		if (process)
			copy_space(parent, parent_ids, process, child, ids);
		track(child, ids.tgid, BPF_CORE_READ(child, self_exec_id), 0,
		      process ? process->cgroups : 0, process);
	}
	rec = reserve_event(child, ids, REC_FORK, sizeof(*rec));
	if (!rec)
		return;
	task_pids(parent, parent_ids, &rec->parent_pid, &rec->parent_tid);
	remember_tid(ids, rec->rec.tid);
	bpf_probe_read_kernel(rec->name, sizeof(rec->name), child->comm);
	rec->ns_pid = 0;
	if (is_process)
		rec->ns_pid = ns_pid_number(BPF_CORE_READ(child, thread_pid));
	rec->reserved = 0;
	rec->rec.flags = match_flags(child, ids, &rec->rec, child->comm);
	emit_submit(rec, BPF_RB_NO_WAKEUP);
}

SEC("raw_tp/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	RUN_TIMED(TIMED_FORK, tell_fork(parent, child));
	return 0;
}

/* Returns the filters' verdict on the task: REC_OUTSIDE, REC_UNSAMPLED. */
static __always_inline __u8 send_name(struct task_struct *task, struct task_ids ids,
				      const char *name, __u8 flags)
{
	struct rec_name *rec = reserve_event(task, ids, REC_NAME, sizeof(*rec));
	__u8 matched;

	if (!rec)
		return 0;
	matched = match_flags(task, ids, &rec->rec, name);
	rec->rec.flags = flags | matched;
	__builtin_memset(rec->name, 0, sizeof(rec->name));
	bpf_probe_read_kernel_str(rec->name, sizeof(rec->name), name);
	/*
	 * The walker has no tables of the new program yet: wake user space, which may be waiting
	 * for more data.
	 */
	emit_submit(rec, flags & NAME_EXEC ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
	return matched;
}

static __always_inline void tell_exec(struct task_struct *task)
{
	struct task_ids ids = copy_ids(task);
	struct tracked_process *process = find_tracked(task, ids.tgid);
	__u64 cgroups = cgroups_of(task);
	__u8 flags = NAME_EXEC;
	__u32 pid, tid;

	task_pids(task, ids, &pid, &tid);
	if (!process) {
		if (!bpf_map_lookup_elem(&pending_exec, &pid))
			return;
		bpf_map_delete_elem(&pending_exec, &pid);
		track(task, ids.tgid, BPF_CORE_READ(task, self_exec_id) - 1, 0, cgroups, NULL);
		remember_tid(ids, tid);
	}
	if (!process || process->cgroups != cgroups)
		flags |= NAME_MOVED;
	if (process) {
		process->cgroups = cgroups;
		process->code_pages = 0;
	}
	if (!(send_name(task, ids, task->comm, flags) & REC_OUTSIDE) && config.arguments)
		send_arguments(pid, tid);
}

SEC("raw_tp/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task)
{
	RUN_TIMED(TIMED_EXEC, tell_exec(task));
	return 0;
}

/*
 * An exec names its task before the new address space has arguments; on_exec() sends the name then.
 */
static __always_inline bool is_in_exec(struct task_struct *task)
{
	return BPF_CORE_READ(task, mm) && !BPF_CORE_READ(task, mm, arg_start);
}

static __always_inline void tell_rename(struct task_struct *task, const char *name)
{
	struct task_ids ids = copy_ids(task);

	if (is_in_exec(task))
		return;
	if (find_tracked(task, ids.tgid))
		send_name(task, ids, name, 0);
}

SEC("raw_tp/task_rename")
int BPF_PROG(on_rename, struct task_struct *task, const char *name)
{
	RUN_TIMED(TIMED_RENAME, tell_rename(task, name));
	return 0;
}

struct signal_struct___exit {
	struct mm_struct *oom_mm; /* set until the process is freed */
} CORE;

static __always_inline bool was_oom_killed(struct task_struct *task)
{
	struct signal_struct___exit *process = (void *)BPF_CORE_READ(task, signal);

	return BPF_CORE_READ(process, oom_mm);
}

static __always_inline void tell_exit(struct task_struct *task)
{
	struct task_ids ids = copy_ids(task);
	struct rec_exit *rec;

	if (!find_tracked(task, ids.tgid))
		return;
	rec = reserve_event(task, ids, REC_EXIT, sizeof(*rec));
	if (!rec)
		return;
	/*
	 * The count of live threads is decremented before this tracepoint: 0 means that this was
	 * the last thread.
	 */
	rec->rec.flags = BPF_CORE_READ(task, signal, live.counter) == 0 ? EXIT_PROCESS : 0;
	if (was_oom_killed(task))
		rec->rec.flags |= EXIT_OOM_KILLED;
	rec->rec.flags |= match_flags(task, ids, &rec->rec, task->comm);
	rec->status = BPF_CORE_READ(task, exit_code);
	rec->cpu_time = BPF_CORE_READ(task, se.sum_exec_runtime) >> 4;
	emit_submit(rec, BPF_RB_NO_WAKEUP);
}

SEC("raw_tp/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	RUN_TIMED(TIMED_EXIT, tell_exit(task));
	return 0;
}

/*
 * Reports the whole CPU time of an ended thread, as its last context switch does if waits are
 * recorded: the kernel's count lags when a thread exits.
 */
static __always_inline void send_cpu_time(struct task_struct *task, struct task_ids ids)
{
	struct rec_wait *rec;

	if (config.waits || !find_tracked(task, ids.tgid))
		return;
	rec = reserve_event(task, ids, REC_WAIT, sizeof(*rec));
	if (!rec)
		return;
	rec->sample.rec.flags = SAMPLE_NO_STACK | SAMPLE_NO_LEAF | SAMPLE_EXITING;
	rec->sample.leaf = 0;
	rec->sample.stack_id = 0;
	rec->sample.cpu_time = BPF_CORE_READ(task, se.sum_exec_runtime) >> 4;
	rec->start = rec->sample.rec.time;
	rec->chance = rec->reserved = 0;
	rec->reason = (struct wait_reason){.call = -1, .state = WAIT_DEAD};
	emit_submit(rec, BPF_RB_NO_WAKEUP);
}

static __always_inline void tell_free(struct task_struct *task)
{
	struct task_ids ids = copy_ids(task);
	struct tracked_process *process;

	send_cpu_time(task, ids);
	forget_tid(ids);
	/* Only leaders have the process's pid, which may already belong to the next process. */
	if (ids.pid != ids.tgid)
		return;
	process = bpf_map_lookup_elem(&tracked, &ids.tgid);
	if (process && process->start == BPF_CORE_READ(task, start_time))
		bpf_map_delete_elem(&tracked, &ids.tgid);
}

SEC("raw_tp/sched_process_free")
int BPF_PROG(on_free, struct task_struct *task)
{
	RUN_TIMED(TIMED_FREE, tell_free(task));
	return 0;
}
