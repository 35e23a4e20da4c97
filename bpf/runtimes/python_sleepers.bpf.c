// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Visits sleeping threads like sleepers.bpf.c, and adds their Python frames. Functions and threads
 * are remembered in the maps of the samples' object. Needs kernel 6.2: earlier ones cannot pass the
 * task to functions, which is needed to read memory of the target.
 */
#define RUNTIME_COUNTS_ROW 2
#define EMIT_PLAINLY
#define PYTHON_WALK static __always_inline
#include "bpf/own_scratch.bpf.h"

#include "bpf/kernel.h"

extern struct task_struct *bpf_task_from_pid(__s32 pid) __ksym;
extern void bpf_task_release(struct task_struct *task) __ksym;

/* The visited thread, in the initial pid namespace. */
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

/* Makes the first Python of the process the current runtime. */
static __always_inline bool turn_to_python(struct stack_scratch *s)
{
	for (int i = 1; i < SPACE_RUNTIMES && s->runtime != RUNTIME_PYTHON; i++)
		turn_to_next_runtime(s);
	return s->runtime == RUNTIME_PYTHON;
}

static __always_inline void add_frames(struct task_struct *task, struct tracked_process *process,
				       struct stack_scratch *s, const struct rec *like)
{
	struct runtime_scratch *notes = own_runtime_scratch();

	if (!notes || !find_space(task, process, s, like->pid) || !turn_to_python(s))
		return;
	sleeper_tid = task->pid;
	python_add_frames_of(task, process, s, notes, like);
}

#define HAS_OWN_FRAMES
#include "bpf/sleepers.bpf.h"

SEC("iter.s/task")
int visit_python_sleepers(struct bpf_iter__task *ctx)
{
	return visit_next(ctx);
}
