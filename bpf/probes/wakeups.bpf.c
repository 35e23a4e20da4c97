// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Notes the waker of a recorded thread, for the REC_RUN sent when the thread arrives on a CPU. The
 * lock of the woken thread is held, and interrupts are disabled, unless it is the current one.
 */
#include "bpf/filter.bpf.h"
#include "bpf/program_cost.bpf.h"
#include "bpf/wait.bpf.h"
#include "bpf/waking_frames.bpf.h"

/* Smallest size of a kernel stack; if it is larger, more stacks are searched. */
#define TASK_STACK_BYTES 16384

struct waking_stack {
	__u64 frames[KERNEL_DEPTH_MAX + 1];
};

PER_CPU(struct waking_stack, waking_stacks, own_waking_stack)

/* Searches the kernel's stack for an interrupt. */
static __noinline bool serves_interrupt(void *ctx, struct waking_stack *stack)
{
	struct frame_scan scan = {};
	long size;

	if (!stack)
		return false;
	size = bpf_get_stack(ctx, stack->frames, sizeof(stack->frames), 0);
	scan.frames = stack->frames;
	scan.count = size > 0 ? (__u32)size / 8 : 0;
	bpf_loop(KERNEL_DEPTH_MAX + 1, scan_frame, &scan, 0);
	return scan.is_interrupt;
}

/*
 * Returns true if an interrupt, not the current task, ends the wait. Interrupts have separate
 * stacks; so do softirqs, which may also be served on behalf of a system call.
 */
static __always_inline bool is_interrupt(void *ctx, struct task_struct *task)
{
	struct waking_stack *stack = own_waking_stack();
	bool has_own_stack;

	if (!task->pid || !stack)
		return true;
	/* Read back, the address is a number to the verifier. */
	*(volatile __u64 *)&stack->frames[0] = (__u64)ctx;
	has_own_stack = *(volatile __u64 *)&stack->frames[0] - (__u64)task->stack >=
			TASK_STACK_BYTES;
	if (!has_own_stack && (task->flags & PF_KTHREAD || call_number_of(task) != -1))
		return false;
	return serves_interrupt(ctx, stack);
}

static __always_inline void note_waker(void *ctx, struct task_struct *woken)
{
	struct wait_row *row = find_wait_row(woken);
	struct task_struct *task;
	struct task_ids ids;

	if (!row)
		return;
	task = bpf_get_current_task_btf();
	row->by_interrupt = is_interrupt(ctx, task);
	row->waker.pid = row->waker.tid = 0;
	if (!row->by_interrupt) {
		ids = (struct task_ids){.tgid = task->tgid, .pid = task->pid};
		task_pids(task, ids, &row->waker.pid, &row->waker.tid);
	}
	row->waker.woken = bpf_ktime_get_ns();
}

SEC("tp_btf/sched_waking")
int BPF_PROG(on_wakeup, struct task_struct *woken)
{
	RUN_TIMED_INLINE(TIMED_WAKEUP, note_waker(ctx, woken));
	return 0;
}
