/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads the number of the system call that a task is in. */
#pragma once

#include "bpf/kernel.h"

/* Bits of struct thread_info that mark a system call of a 32-bit program, by architecture. */
#define X86_TS_COMPAT 0x2
#define ARM64_TIF_32BIT (1ul << 22)

#if IS_ARM64
struct pt_regs___call {
	int syscallno;
	__u64 orig_x0;
	__u64 regs[31];
} CORE;
#define CALL_FIELD syscallno
#define ARGUMENT_FIELD orig_x0
#define SECOND_FIELD regs[1]
#define THIRD_FIELD regs[2]
#define FOURTH_FIELD regs[3]
#define COMPAT_ARGUMENT_FIELD orig_x0
#define COMPAT_SECOND_FIELD regs[1]
#define has_compat_call(task) ((task)->thread_info.flags & ARM64_TIF_32BIT)
#else
struct pt_regs___call {
	unsigned long orig_ax, di, si, dx, r10, bx, cx;
} CORE;
#define CALL_FIELD orig_ax
#define ARGUMENT_FIELD di
#define SECOND_FIELD si
#define THIRD_FIELD dx
#define FOURTH_FIELD r10
#define COMPAT_ARGUMENT_FIELD bx
#define COMPAT_SECOND_FIELD cx
#define has_compat_call(task) ((task)->thread_info.status & X86_TS_COMPAT)
#endif

/* Returns the number of the task's system call; -1: none. */
static __always_inline __s32 call_number_of(struct task_struct *task)
{
	struct pt_regs___call *regs = (struct pt_regs___call *)bpf_task_pt_regs(task);

	return task->flags & PF_KTHREAD ? -1 : (__s32)regs->CALL_FIELD;
}
