// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Tasks of event loops: from the return of a call that waits for events to the thread's next such
 * call. A call that does not sleep makes no context switch, so the calls themselves are probed.
 */
#include "bpf/marker.bpf.h"
#include "bpf/system_call.bpf.h"
#include "bpf/program_cost.bpf.h"

/* Set by user space: numbers of the calls, -1 for none; the second row is for 32-bit programs. */
const volatile __s32 wait_calls[2][TASK_CALLS_MAX] = {};
const volatile __u64 task_min_ns = 0;

struct loop_row {
	__u64 start; /* start of the task; 0: the thread is waiting or has no event loop */
	__s32 number; /* number of the call that returned the event */
	__u32 is_compat;
};

struct loop_rows {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct loop_row);
};

struct loop_rows loop_rows SEC(".maps");

static __always_inline bool waits_for_events(__s32 number, __u32 is_compat)
{
	for (__u32 i = 0; i < TASK_CALLS_MAX; i++) {
		if (wait_calls[is_compat & 1][i] == number && number >= 0)
			return true;
	}
	return false;
}

static __always_inline void fill_record(struct rec_task *rec, const struct loop_row *row,
					__u64 time)
{
	rec_init(&rec->rec, REC_TASK, sizeof(*rec), time);
	rec->rec.flags = row->is_compat ? CALL_COMPAT : 0;
	rec->start = row->start;
	rec->number = row->number;
}

static __always_inline void tell_task(struct task_struct *task, const struct loop_row *row,
				      __u64 now)
{
	struct rec_task rec = {};

	fill_record(&rec, row, now);
	if (marker_owner(task, &rec.rec))
		count_marker(send_marker(&rec.rec, sizeof(rec), sizeof(rec), true));
}

static __always_inline void end_task(long number)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct loop_row *known, row;
	__u64 now;

	if (!waits_for_events(number, has_compat_call(task) ? 1 : 0) || !markers.since)
		return;
	known = bpf_task_storage_get(&loop_rows, task, NULL, 0);
	if (!known || known->start < markers.since)
		return;
	row = *known;
	known->start = 0;
	now = bpf_ktime_get_ns();
	if (now - row.start >= task_min_ns)
		tell_task(task, &row, now);
}

SEC("raw_tp/sys_enter")
int BPF_PROG(on_wait_enter, void *regs, long number)
{
	RUN_TIMED(TIMED_WAIT_ENTER, end_task(number));
	return 0;
}

static __always_inline void begin_task(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__s32 number = call_number_of(task);
	__u32 is_compat = has_compat_call(task) ? 1 : 0;
	struct loop_row *row;

	if (!waits_for_events(number, is_compat) || !markers.since || !find_current(task))
		return;
	row = bpf_task_storage_get(&loop_rows, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!row)
		return;
	row->number = number;
	row->is_compat = is_compat;
	row->start = bpf_ktime_get_ns();
}

SEC("raw_tp/sys_exit")
int BPF_PROG(on_wait_exit, void *regs, long result)
{
	RUN_TIMED(TIMED_WAIT_EXIT, begin_task());
	return 0;
}

/* Tasks that have not ended, for user space to read. */
SEC("iter/task")
int list_open_tasks(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct rec_task rec = {};
	struct loop_row *row;

	row = task ? bpf_task_storage_get(&loop_rows, task, NULL, 0) : NULL;
	if (!row || !row->start)
		return 0;
	fill_record(&rec, row, bpf_ktime_get_ns());
	write_row(ctx, task, &rec.rec, sizeof(rec));
	return 0;
}
