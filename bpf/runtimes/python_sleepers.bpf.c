// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Visits threads that sleep, as sleepers.bpf.c does, for their frames of Python as well. Functions
 * and threads are remembered in the maps of the samples' object. Needs a kernel from 6.2 on: code
 * that reads memory of the target needs the task, which functions cannot find in earlier ones.
 */
#define RUNTIME_COUNTS_ROW 2
#define EMIT_PLAINLY
#define PYTHON_WALK static __always_inline
#include "bpf/own_scratch.bpf.h"

#include "bpf/kernel.h"

extern struct task_struct *bpf_task_from_pid(__s32 pid) __ksym;
extern void bpf_task_release(struct task_struct *task) __ksym;

/* The thread that is visited, in the initial pid namespace. */
__u32 sleeper_tid = 0;

static __always_inline long read_sleeper(void *to, __u32 size, const void *from)
{
	struct task_struct *task = bpf_task_from_pid(sleeper_tid);
	long code;

	if (!task)
		return -1;
	code = bpf_copy_from_user_task(to, size, from, task, 0);
	bpf_task_release(task);
	return code;
}

/* The current task is the recorder. */
#define bpf_probe_read_user read_sleeper

#include "bpf/runtimes/python_stack.bpf.h"

struct runtime_scratches runtime_scratches SEC(".maps");

struct sleeper_loop {
	struct task_struct *task;
	const struct tracked_process *process;
	struct stack_scratch *s;
	struct runtime_scratch *notes;
	const struct rec *like;
};

/* Looks for frames of the process's next Python: a thread belongs to one. */
static long add_frames_of_next(__u32 i, void *ctx)
{
	struct sleeper_loop *loop = ctx;
	struct stack_scratch *s = loop->s;

	if (s->runtime == RUNTIME_PYTHON &&
	    python_add_frames_of(loop->task, loop->process, s, loop->notes, loop->like))
		return 1;
	return turn_to_next_runtime(s) ? 0 : 1;
}

static __always_inline void add_frames(struct task_struct *task, struct tracked_process *process,
				       struct stack_scratch *s, const struct rec *like)
{
	struct runtime_scratch *notes = own_runtime_scratch();
	struct sleeper_loop loop = {task, process, s, notes, like};

	if (!notes || !find_space(task, process, s, like->pid))
		return;
	sleeper_tid = task->pid;
	bpf_loop(SPACE_RUNTIMES, add_frames_of_next, &loop, 0);
}

#define HAS_OWN_FRAMES
#include "bpf/sleepers.bpf.h"

SEC("iter.s/task")
int visit_python_sleepers(struct bpf_iter__task *ctx)
{
	return visit_next(ctx);
}
