// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Writes resource totals of the threads of recorded processes, for user space to read. */
#include "bpf/filter.bpf.h"
#include "bpf/live_record.h"
#include "bpf/program_cost.bpf.h"

/* Indices of the kernel's page counts of a process. */
enum {
	COUNTED_FILE,
	COUNTED_ANONYMOUS,
	COUNTED_SWAPPED,
	COUNTED_SHARED,
	COUNTED_COUNT,
};

struct percpu_counter {
	__s64 count;
} CORE;

struct mm_struct___counted {
	struct percpu_counter rss_stat[COUNTED_COUNT];
} CORE;

struct mm_rss_stat___until_6_1 {
	struct {
		__s64 counter;
	} count[COUNTED_COUNT]; /* atomic_long_t: CO-RE cannot read a struct as a number */
} CORE;

struct mm_struct___until_6_1 {
	struct mm_rss_stat___until_6_1 rss_stat;
} CORE;

struct task_io_accounting {
	__u64 read_bytes, write_bytes;
} CORE;

struct task_struct___counted {
	struct task_io_accounting ioac;
	unsigned long min_flt, maj_flt;
} CORE;

struct signal_struct___counted {
	unsigned long long sum_sched_runtime;
	unsigned long nvcsw, nivcsw, min_flt, maj_flt;
	struct task_io_accounting ioac;
	int nr_threads;
} CORE;

/* Returns pages of a kind; a sum over CPUs may lack the last few of each. */
static __always_inline __s64 pages_of(struct mm_struct *mm, int kind)
{
	struct mm_struct___until_6_1 *old = (void *)mm;
	struct mm_struct___counted *counted = (void *)mm;
	struct mm_rss_stat___until_6_1 *stat;
	__s64 pages = 0;
	void *at;

	if (bpf_core_type_exists(struct mm_rss_stat___until_6_1)) {
		at = (void *)__builtin_preserve_access_index(&old->rss_stat);
		stat = at;
		at = (void *)__builtin_preserve_access_index(&stat->count) + kind * sizeof(pages);
	} else {
		at = (void *)__builtin_preserve_access_index(&counted->rss_stat[0].count) +
		     kind * bpf_core_type_size(struct percpu_counter);
	}
	bpf_probe_read_kernel(&pages, sizeof(pages), at);
	return pages > 0 ? pages : 0;
}

static __always_inline void add_ended(struct counted_task *out, struct task_struct *task)
{
	struct signal_struct___counted *signal = (void *)task->signal;

	out->cpu_ns += BPF_CORE_READ(signal, sum_sched_runtime);
	out->minor_faults += BPF_CORE_READ(signal, min_flt);
	out->major_faults += BPF_CORE_READ(signal, maj_flt);
	out->switches += BPF_CORE_READ(signal, nvcsw) + BPF_CORE_READ(signal, nivcsw);
	if (bpf_core_field_exists(signal->ioac)) {
		out->read_bytes += BPF_CORE_READ(signal, ioac.read_bytes);
		out->written_bytes += BPF_CORE_READ(signal, ioac.write_bytes);
	}
	out->threads = BPF_CORE_READ(signal, nr_threads);
}

static __always_inline void add_memory(struct counted_task *out, struct task_struct *task)
{
	struct mm_struct *mm = BPF_CORE_READ(task, mm);

	if (!mm)
		return;
	out->resident_pages = pages_of(mm, COUNTED_FILE) + pages_of(mm, COUNTED_ANONYMOUS) +
			      pages_of(mm, COUNTED_SHARED);
	out->swapped_pages = pages_of(mm, COUNTED_SWAPPED);
}

static __always_inline void count_task(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct task_struct___counted *counted = (void *)task;
	struct counted_task out = {};
	struct task_ids ids;

	if (!task)
		return;
	ids = copy_ids(task);
	if (!find_tracked(task, ids.tgid))
		return;
	task_pids(task, ids, &out.pid, &out.tid);
	out.cpu_ns = task->se.sum_exec_runtime;
	out.minor_faults = BPF_CORE_READ(counted, min_flt);
	out.major_faults = BPF_CORE_READ(counted, maj_flt);
	out.switches = task->nvcsw + task->nivcsw;
	if (bpf_core_field_exists(counted->ioac.read_bytes)) {
		out.read_bytes = BPF_CORE_READ(counted, ioac.read_bytes);
		out.written_bytes = BPF_CORE_READ(counted, ioac.write_bytes);
	}
	out.leads = out.pid == out.tid;
	if (out.leads) {
		out.start_ns = task->start_time;
		add_ended(&out, task);
		add_memory(&out, task);
	}
	bpf_seq_write(ctx->meta->seq, &out, sizeof(out));
}

SEC("iter/task")
int count_tasks(struct bpf_iter__task *ctx)
{
	RUN_TIMED(TIMED_COUNT_TASKS, count_task(ctx));
	return 0;
}
