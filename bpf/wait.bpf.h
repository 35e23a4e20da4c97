/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Remembers the waits of recorded threads. */
#pragma once

#include "bpf/filter.bpf.h"
#include "bpf/record.h"
#include "bpf/system_call.bpf.h"

/* task_struct.__state */
#define TASK_INTERRUPTIBLE 0x1
#define TASK_UNINTERRUPTIBLE 0x2
#define TASK_STOPPED 0x4
#define TASK_TRACED 0x8
#define TASK_DEAD 0x80
#define TASK_NOLOAD 0x400

/*
 * A recorded thread. Only programs on the thread's own CPU write to it, except for `visited` and
 * `waker`.
 */
struct wait_row {
	__u64 left; /* ns at which it last left the CPU; 0: before it was known */
	__u64 run_delay; /* ns spent waiting for CPUs by then */
	__u64 visited; /* its switch count when last visited, see sleepers.bpf.c */
	__u32 mean; /* mean length of its waits, weighted to recent ones, in WAIT_MEAN_NS */
	__u32 chance; /* as in struct rec_wait */
	__u8 is_off; /* 0: it runs; OFF_REPORTED: a switch was reported by which it left the CPU */
	__u8 is_sampled; /* the wait has a REC_WAIT */
	__u8 state; /* enum wait_state, when it left */
	__u8 frames; /* runtime frames in its last stack, in WAIT_FRAMES_UNIT */
	/*
	 * The last wake-up since the thread ran, if wake-ups are recorded. The thread may still be
	 * leaving its CPU then: whether it ended a wait is known when the thread arrives.
	 */
	struct run_waker waker; /* woken 0: none yet */
	__u8 by_interrupt; /* an interrupt, not waker.tid */
};

/* New rows have 1 in its place, as their threads may run. */
#define OFF_REPORTED 2

/* Runtime frames that take as long as a stack without any. */
#define WAIT_FRAMES_UNIT 32
#define WAIT_MEAN_SHIFT 8
#define WAIT_MEAN_NS (1u << WAIT_MEAN_SHIFT)
#define WAIT_MEAN_MAX (1u << 23) /* 2 s */
#define WAIT_MEAN_FIRST (1000000 / WAIT_MEAN_NS) /* for a thread that has not waited yet: 1 ms */

/*
 * Recorded threads. A row is created when a thread is forked or found, and freed with the thread.
 * Context switches only look it up: memory cannot be allocated there. A thread without a row is not
 * recorded.
 */
struct wait_rows {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct wait_row);
};

extern struct wait_rows wait_rows SEC(".maps");

/* A wait that began during the recording has no stack: sleepers need visits only then. */
extern bool has_unsampled_waits;

/* Stores only once, because all CPUs read this. */
static __always_inline void note_unsampled_wait(void)
{
	if (!has_unsampled_waits)
		has_unsampled_waits = true;
}

/*
 * Creates the row of a thread, unless it has one; `left` as in the row. The task is off the CPU, or
 * runs until its next switch.
 */
static __always_inline void enter_wait_row(struct task_struct *task, __u64 left)
{
	struct wait_row row = {
		.left = left,
		.is_off = 1,
		.mean = WAIT_MEAN_FIRST,
		.state = WAIT_RUNNABLE,
	};

	bpf_task_storage_get(&wait_rows, task, &row, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

/* NULL: the thread is not recorded. */
static __always_inline struct wait_row *find_wait_row(struct task_struct *task)
{
	return bpf_task_storage_get(&wait_rows, task, NULL, 0);
}

/* True if the task is on a run queue. A task about to be dequeued does not count. */
static __always_inline bool is_queued(struct task_struct *task)
{
	return task->on_rq &&
	       !(bpf_core_field_exists(task->se.sched_delayed) && task->se.sched_delayed);
}

/* Returns the state of a task that is off the CPU, or about to leave it. */
static __always_inline __u8 wait_state_of(struct task_struct *task)
{
	__u32 state = task->__state;

	if (state & TASK_DEAD)
		return WAIT_DEAD;
	/* A task may be preempted between changing its state and leaving. */
	if (!state || is_queued(task))
		return WAIT_RUNNABLE;
	if (state & TASK_UNINTERRUPTIBLE)
		return state & TASK_NOLOAD ? WAIT_IDLE : WAIT_UNINTERRUPTIBLE;
	if (state & TASK_INTERRUPTIBLE)
		return WAIT_SLEEPING;
	if (state & TASK_STOPPED)
		return WAIT_STOPPED;
	return state & TASK_TRACED ? WAIT_TRACED : WAIT_OTHER;
}

/* Returns the first argument of the task's system call, plus 1; 0: it is larger. */
static __always_inline __u16 wait_argument_of(struct task_struct *task)
{
	struct pt_regs___call *regs = (struct pt_regs___call *)bpf_task_pt_regs(task);
	__u64 argument;

	if (task->flags & PF_KTHREAD)
		return 0;
	argument = regs->ARGUMENT_FIELD;
	if (has_compat_call(task))
		argument = (__u32)regs->COMPAT_ARGUMENT_FIELD;
	return argument < 0xffff ? argument + 1 : 0;
}

/*
 * Returns the reason why a task is off the CPU, is about to leave it, or has just returned: all but
 * its state stays the same until it runs. As the bytes of a struct wait_reason: the verifier would
 * track each byte of a struct separately.
 */
static __always_inline __u64 wait_reason_of(struct task_struct *task, __u8 state)
{
	__u64 flags = has_compat_call(task) ? WAIT_COMPAT : 0;

	if (core_read_bits(task, in_iowait))
		flags |= WAIT_IO;
	return (__u32)call_number_of(task) | (__u64)state << 32 | flags << 40 |
	       (__u64)wait_argument_of(task) << 48;
}
