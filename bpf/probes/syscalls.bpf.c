// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * System calls of recorded threads: those that take long enough are sent when they end, with the
 * stack that made them. An exec replaces both stack and memory, so these are sent or copied before
 * it.
 */
/* A tick can interrupt these programs. */
#include "bpf/own_scratch.bpf.h"

#include "bpf/marker_stack.bpf.h"
#include "bpf/program_cost.bpf.h"
#include "bpf/system_call.bpf.h"

/* Set by user space. The second row is for 32-bit programs. */
const volatile __s32 path_calls[2][CALL_PATHS_MAX] = {}; /* numbers; -1: none */
const volatile __u32 path_arguments[CALL_PATHS_MAX] = {}; /* number of the path: 0 or 1 */
const volatile __s32 exec_calls[2][2] = {};
const volatile __u64 syscalls_min_ns = 0;

struct call_row {
	__u64 start; /* 0: not in a call */
	__u64 arguments[2];
	__s32 number;
	__u32 is_compat;
};

struct call_rows {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct call_row);
};

/* Data that an exec replaces before it returns. */
struct exec_row {
	struct rec_marker_stack stack;
	__u32 path_size;
	__u32 is_set;
	char path[CALL_PATH_SIZE];
};

struct exec_rows {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct exec_row);
};

/* A struct rec_call under construction, with its path. */
struct call_scratch {
	__u64 words[(sizeof(struct rec_call) + CALL_PATH_SIZE) / 8];
};

struct call_scratches {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct call_scratch);
};

struct call_rows call_rows SEC(".maps");
struct exec_rows exec_rows SEC(".maps");
struct call_scratches call_scratches SEC(".maps");

static __always_inline bool is_exec(__s32 number, __u32 is_compat)
{
	const volatile __s32 *known = exec_calls[is_compat & 1];

	return number == known[0] || number == known[1];
}

static __always_inline void read_call(struct task_struct *task, struct call_row *row)
{
	struct pt_regs___call *regs = (struct pt_regs___call *)bpf_task_pt_regs(task);

	row->is_compat = has_compat_call(task) ? 1 : 0;
	if (row->is_compat) {
		row->arguments[0] = (__u32)regs->COMPAT_ARGUMENT_FIELD;
		row->arguments[1] = (__u32)regs->COMPAT_SECOND_FIELD;
	} else {
		row->arguments[0] = regs->ARGUMENT_FIELD;
		row->arguments[1] = regs->SECOND_FIELD;
	}
}

/* Copies the path of a call that has one. Returns its length. */
static __always_inline __u32 read_path(const struct call_row *row, char *to)
{
	const volatile __s32 *known = path_calls[row->is_compat & 1];
	long size = 0;

	for (__u32 i = 0; i < CALL_PATHS_MAX; i++) {
		if (known[i] == row->number)
			size = bpf_probe_read_user_str(
				to, CALL_PATH_SIZE,
				(const void *)row->arguments[path_arguments[i] & 1]);
	}
	return size > 0 && size <= CALL_PATH_SIZE ? size - 1 : 0;
}

/* Programs that continue after the stack was sent. */
enum call_end {
	END_CALL,
	END_EXEC, /* an exec begins */
};

/* Keeps the stack of the exec that begins. `sample`: NULL if the ring had no room for it. */
static __always_inline void finish_exec(const struct rec_sample *sample)
{
	struct exec_row *exec;

	exec = bpf_task_storage_get(&exec_rows, bpf_get_current_task_btf(), NULL, 0);
	if (!exec || !sample)
		return;
	set_marker_stack(&exec->stack, sample);
	exec->is_set = 1;
}

MARKER_END("raw_tp", end_exec, TIMED_CALL_ENTER, finish_exec(ended_marker_sample()))

/* Keeps the data that the exec is about to replace. */
static __always_inline void keep_exec(void *ctx, struct task_struct *task,
				      struct tracked_process *process, const struct call_row *row,
				      __u64 now)
{
	struct task_ids ids = {.tgid = task->tgid, .pid = task->pid};
	struct rec head = {.time = now};
	struct exec_row *exec;

	exec = bpf_task_storage_get(&exec_rows, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!exec)
		return;
	exec->is_set = 0;
	exec->path_size = read_path(row, exec->path);
	task_pids(task, ids, &head.pid, &head.tid);
	finish_exec(send_user_marker_stack(ctx, task, process, &head, END_EXEC));
}

static __always_inline void note_call(void *ctx, long number)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct tracked_process *process;
	struct call_row *row;
	__u64 now;

	if (!markers.since)
		return;
	process = find_current(task);
	if (!process)
		return;
	row = bpf_task_storage_get(&call_rows, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!row)
		return;
	now = bpf_ktime_get_ns();
	row->number = number;
	row->start = now;
	read_call(task, row);
	if (is_exec(row->number, row->is_compat))
		keep_exec(ctx, task, process, row, now);
}

SEC("raw_tp/sys_enter")
int BPF_PROG(on_call_enter, void *regs, long number)
{
	RUN_TIMED(TIMED_CALL_ENTER, note_call(ctx, number));
	return 0;
}

/* False: the ring has no room. */
static __always_inline bool send_call(struct rec_call *call)
{
	return send_marker(&call->rec, sizeof(*call) + call->path_size, sizeof(struct call_scratch),
			   true);
}

static __always_inline void begin_record(struct rec_call *rec, const struct call_row *row,
					 __u64 time)
{
	rec_init(&rec->rec, REC_CALL, sizeof(*rec), time);
	rec->rec.flags = row->is_compat ? CALL_COMPAT : 0;
	rec->start = row->start;
	rec->number = row->number;
	rec->argument = row->arguments[0];
}

static __always_inline struct rec_call *own_call(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&call_scratches, &zero);
}

/* Sends the call from this CPU's memory. `sample`: NULL if the ring had no room for its stack. */
static __always_inline void finish_call(const struct rec_sample *sample)
{
	struct rec_call *call = own_call();

	if (call)
		finish_marker(&call->rec, &call->stack, sample, sizeof(*call) + call->path_size,
			      sizeof(struct call_scratch), true);
}

MARKER_END("raw_tp", end_call, TIMED_CALL_EXIT, finish_call(ended_marker_sample()))

struct marker_ends marker_ends SEC(".maps") = {
	.values = {[END_CALL] = (void *)end_call, [END_EXEC] = (void *)end_exec}};

/* Sends the call with the data kept when it began. False: there is no stack, or no room. */
static __always_inline bool send_exec(struct task_struct *task, struct rec_call *call)
{
	struct exec_row *exec = bpf_task_storage_get(&exec_rows, task, NULL, 0);

	if (!exec || !exec->is_set)
		return false;
	call->path_size = exec->path_size;
	__builtin_memcpy(call->path, exec->path, CALL_PATH_SIZE);
	call->stack = exec->stack;
	return send_call(call);
}

static __always_inline void tell_call(void *ctx, struct task_struct *task, struct call_row *row,
				      __u64 now, long result)
{
	struct rec_call *call = own_call();
	struct tracked_process *process;

	if (!call)
		return;
	begin_record(call, row, now);
	call->result = result;
	process = marker_owner(task, &call->rec);
	if (!process)
		return;
	if (is_exec(row->number, row->is_compat)) {
		count_marker(send_exec(task, call));
		return;
	}
	call->path_size = read_path(row, call->path);
	finish_call(send_user_marker_stack(ctx, task, process, &call->rec, END_CALL));
}

/*
 * Handles a call that began before recording did. The exec of the command does not count as its
 * call.
 */
static __always_inline bool began_before(struct task_struct *task, struct call_row *row)
{
	if (task->start_time >= markers.since || !find_current(task))
		return false;
	row->number = call_number_of(task);
	read_call(task, row);
	row->start = markers.since;
	return row->number >= 0 && !is_exec(row->number, row->is_compat);
}

static __always_inline void leave_call(void *ctx, long result)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct call_row *known, row = {};
	__u64 now;

	if (!markers.since)
		return;
	known = bpf_task_storage_get(&call_rows, task, NULL, 0);
	if (known) {
		row = *known;
		known->start = 0;
		/*
		 * Leave out calls that span a pause of the recording: the row may belong to an
		 * earlier call.
		 */
		if (row.start < markers.since)
			return;
	} else if (!began_before(task, &row)) {
		return;
	}
	now = bpf_ktime_get_ns();
	if (now - row.start >= syscalls_min_ns)
		tell_call(ctx, task, &row, now, result);
}

SEC("raw_tp/sys_exit")
int BPF_PROG(on_call_exit, void *regs, long result)
{
	RUN_TIMED(TIMED_CALL_EXIT, leave_call(ctx, result));
	return 0;
}

/* Sends calls that have not ended, for user space to read. */
SEC("iter/task")
int list_open_calls(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct rec_call rec = {};
	struct call_row *row;

	row = task ? bpf_task_storage_get(&call_rows, task, NULL, 0) : NULL;
	if (!row || !row->start)
		return 0;
	begin_record(&rec, row, bpf_ktime_get_ns());
	rec.rec.flags |= CALL_OPEN;
	write_row(ctx, task, &rec.rec, sizeof(rec));
	return 0;
}
