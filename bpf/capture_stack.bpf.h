/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Captures the current task's stack: the kernel side by the kernel, the user side as configured. */
#pragma once

#include "bpf/erlang_stack.bpf.h"
#include "bpf/filter.bpf.h"
#include "bpf/find_rule.bpf.h"
#include "bpf/no_rule.bpf.h"
#include "bpf/ring.bpf.h"
#include "bpf/runtime.bpf.h"
#include "bpf/stack_scratch.bpf.h"
#include "bpf/tables.bpf.h"

/*
 * The walker. Unwinds user stacks by the CFI tables in the shards, by frame pointers where there is
 * no CFI, and by a scan for return addresses where both fail. One bounded loop calls a global
 * function per stage, so the verifier checks each stage once.
 */

__noinline int unwind_load_needed(struct stack_scratch *s)
{
	if (s)
		walk_load_needed(&s->frame, &s->rule);
	return 0;
}

__noinline int unwind_leave(struct stack_scratch *s)
{
	if (s)
		walk_to_caller(&s->frame, &s->rule, &s->caller);
	return 0;
}

/* On arm64 the step is longer: two functions are cheaper to verify, but slower. */
__noinline int unwind_step(struct stack_scratch *s)
{
	int result;

	if (!s)
		return WALK_BAD_READ;
	result = walk_find_caller(&s->frame, &s->rule, &s->caller);
	if (result != WALK_STEPPED)
		return result;
	if (IS_ARM64)
		unwind_leave(s);
	else
		walk_to_caller(&s->frame, &s->rule, &s->caller);
	return WALK_STEPPED;
}

/* Steps to a frame on another stack. */
__noinline int unwind_to_other_stack(struct stack_scratch *s)
{
	int result;

	if (!s)
		return WALK_BAD_READ;
	result = walk_find_other_stack(&s->frame, &s->rule, &s->caller);
	if (result == WALK_STEPPED)
		unwind_leave(s);
	return result;
}

__noinline int unwind_by_link_register(struct stack_scratch *s)
{
	__u64 pc, start, ra;

	if (!s || !walk_link_register(&s->frame, &ra))
		return 0;
	pc = s->frame.pc;
	start = s->mapping.start;
	s->frame.pc = ra;
	if (unwind_find_mapping(s, ra - 1) && unwind_find_rule(s, 1) &&
	    (s->rule.cfa_kind != UNWIND_CFA_NONE || s->mapping.start != start)) {
		walk_to_return(&s->frame, ra, s->frame.sp);
		return 1;
	}
	s->frame.pc = pc;
	return 0;
}

/* Code that a runtime with chains of frame pointers has just mapped is not known yet. */
__noinline int unwind_by_frame_pointer(struct stack_scratch *s)
{
	__u64 pair[2];

	if (!s || !walk_frame_pointer(&s->frame, pair))
		return 0;
	if (!unwind_find_mapping(s, pair[1] - 1) && !(walks_chains(s) && follows_call(pair[1])))
		return 0;
	walk_to_frame_pointer(&s->frame, pair);
	return 1;
}

/* Notes the address on the stack at which the frame begins. */
static __always_inline void note_sp(const struct stack_scratch *s, __u32 i)
{
	struct runtime_scratch *m = own_runtime_scratch();

	if (m && i < USER_DEPTH_MAX)
		m->sps[i] = s->frame.sp | s->frame.by_fp;
}

/* Appends the frame's pc to the stack record. False: no room. */
__noinline int unwind_push(struct stack_scratch *s, __u8 kind)
{
	__u32 user_depth, at;
	__u64 pc, block;

	if (!s)
		return 0;
	user_depth = s->user_depth;
	at = s->kernel_depth + user_depth;
	if (user_depth >= USER_DEPTH_MAX || at >= DEPTH_MAX) {
		s->stack_flags |= STACK_TRUNCATED;
		return 0;
	}
	pc = s->frame.pc;
	s->words[HEADER_WORDS + at] = pc;
	s->kinds[at] = kind;
	s->sums[user_depth] = s->sum = sum_frame(s->sum, pc, kind);
	s->user_depth = user_depth + 1;
	if (s->runtime)
		note_sp(s, user_depth);
	block = s->frame.sp >> STACK_BLOCK_SHIFT;
	if (block != s->block) {
		s->block = block;
		s->end_depth = user_depth + 1;
	}
	return 1;
}

/*
 * Returns whether the frame is left to the program of the process's runtime. Until that has run, it
 * counts as broken.
 */
static __always_inline bool stops_for_runtime(struct stack_scratch *s)
{
	if (!runtime_has(s->runtime, RUNTIME_WALK_RESUMES) || s->resumes == RESUME_REFUSED)
		return false;
	s->resumes = RESUME_HERE;
	s->stack_flags |= STACK_BROKEN;
	return true;
}

/* Limit of the latest calls of probed functions to search. */
#define PROBED_CALLS_MAX 4

/*
 * While a function with a probed return runs, its return address on the stack points into a page of
 * the kernel's, and the kernel keeps the original. Makes the original the frame's pc.
 */
__noinline int unwind_find_return(struct stack_scratch *s)
{
	const struct task_struct *task = bpf_get_current_task_btf();
	const struct return_instance *call;
	__u64 at;

	/* The substituted address is the start of that page. */
	if (!s || s->frame.pc & 0xfff || !task->utask)
		return 0;
	at = s->frame.sp - (IS_ARM64 ? 0 : 8);
	call = task->utask->return_instances;
	for (int i = 0; i < PROBED_CALLS_MAX && call; i++) {
		if (call->stack == at) {
			s->frame.pc = call->orig_ret_vaddr;
			return 0;
		}
		call = call->next;
	}
	return 0;
}

/*
 * Handles a return address without a rule for the code before it. A fiber's first function returns
 * to an address that is often the first byte of a function, not pushed by a call. Returns 1: the
 * stack ends there. A signal handler's return address leads to a signal frame. After a guessed
 * frame, it may be any pointer to a function.
 */
__noinline int unwind_find_start(struct stack_scratch *s)
{
	if (!s || s->frame.by_scan || !(s->mapping.flags & UNWIND_HAS_TABLE) ||
	    !unwind_find_rule(s, 0) || s->rule.cfa_kind == UNWIND_CFA_NONE)
		return 0;
	if (!follows_call(s->frame.pc))
		return !(s->rule.flags & UNWIND_SIGNAL_FRAME);
	unwind_find_rule(s, 1);
	return 0;
}

/* Steps one frame outwards by any method. 0: the stack has ended, as s->stack_flags reports. */
static __always_inline int unwind_frame(struct stack_scratch *s)
{
	__u32 back = s->frame.is_pc ? 0 : 1;
	__u8 kind = FRAME_NATIVE;
	int result, way;

	if (!unwind_find_rule(s, back)) {
		if (stops_for_runtime(s))
			return 0;
		/* Garbage or code just mapped; user space can tell which. */
		s->stack_flags |= STACK_UNKNOWN;
		return 0;
	}
	/* A system call can be a function's last instruction: the pc is then past the function. */
	if (!back && s->rule.cfa_kind == UNWIND_CFA_NONE)
		unwind_find_rule(s, 1);
	if (back && s->rule.cfa_kind == UNWIND_CFA_NONE && unwind_find_start(s)) {
		s->stack_flags |= STACK_WHOLE;
		return 0;
	}
	if (!walk_needs_sp_alone(&s->frame, &s->rule))
		unwind_load_needed(s);
	result = unwind_step(s);
	if (result == WALK_NO_RULE && s->rule.cfa_kind != UNWIND_CFA_NONE)
		result = s->rule.cfa_kind == UNWIND_CFA_ERLANG ? unwind_by_terms(s)
							       : unwind_to_other_stack(s);
	if (result == WALK_END ||
	    (result == WALK_NO_RULE && walk_is_chain_end(&s->frame, &s->mapping, s->pending))) {
		s->stack_flags |= STACK_WHOLE;
		return 0;
	}
	if (result == WALK_STEPPED) {
		if (config.return_probes)
			unwind_find_return(s);
		if (s->frame.is_pc)
			kind = FRAME_SIGNAL;
		return unwind_push(s, kind);
	}
	if (result == WALK_NO_RULE && !(s->mapping.flags & (UNWIND_HAS_TABLE | s->pending)) &&
	    stops_for_runtime(s))
		return 0;
	if (s->mapping.flags & s->pending) {
		s->stack_flags |= STACK_UNKNOWN;
		return 0;
	}
	/* Other methods would miss the switch to another stack. */
	if (!(config.unwind & UNWIND_BY_FRAME_POINTER) ||
	    s->rule.cfa_kind >= UNWIND_CFA_OTHER_STACK) {
		s->stack_flags |= STACK_BROKEN;
		return 0;
	}
	if (result == WALK_NO_RULE && !(s->mapping.flags & UNWIND_HAS_TABLE) && unwind_by_shim(s))
		return unwind_push(s, kind);
	if (IS_ARM64 && result == WALK_NO_RULE && unwind_by_link_register(s))
		return unwind_push(s, kind);
	way = result == WALK_NO_RULE ? unwind_by_return(s) : WALK_RETURN_UNKNOWN;
	if (way == WALK_RETURN_STEPPED)
		return unwind_push(s, kind);
	if (!IS_ARM64 && result == WALK_NO_RULE && unwind_by_leaf(s))
		return unwind_push(s, s->frame.by_scan ? FRAME_GUESS : kind);
	if (way == WALK_RETURN_UNKNOWN &&
	    (IS_ARM64 || result != WALK_NO_RULE || !unwind_is_callers_pair(s)) &&
	    unwind_by_frame_pointer(s))
		return unwind_push(s, kind);
	if (config.unwind & UNWIND_BY_SCAN && unwind_by_scan(s))
		return unwind_push(s, FRAME_GUESS);
	s->stack_flags |= STACK_BROKEN;
	return 0;
}

LOOP_CALLBACK(unwind_turn, loop, unwind_frame(loop->s))

/* Source to copy frame kinds from: KERNEL_DEPTH_MAX kernel frames, then user frames. */
static const volatile __u8 some_kinds[DEPTH_MAX + 8] = {
	[0 ... KERNEL_DEPTH_MAX - 1] = FRAME_KERNEL,
};

/* Stores up to `count` addresses at words[at]; returns how many. */
#define get_stack(ctx, s, at, count, flags) \
	({ \
		long size_ = bpf_get_stack(ctx, (s)->words + (at), 8 * (count), flags); \
		size_ > 0 ? (__u32)size_ / 8 : 0; \
	})

/* Adopts the `count` kernel addresses stored from the leaf's word on. */
static __always_inline void take_kernel(struct stack_scratch *s, __u32 count)
{
	__u32 depth = count - 1;

	/*
	 * An empty stack wraps to a large number here. 6.1's verifier understands this test, but
	 * not !count.
	 */
	barrier_var(depth);
	if (depth > KERNEL_DEPTH_MAX)
		return;
	s->leaf = s->words[HEADER_WORDS - 1];
	s->kernel_depth = depth;
	s->sample_flags |= SAMPLE_LEAF_KERNEL;
	s->stack_flags |= STACK_USER_PC;
	bpf_probe_read_kernel(s->kinds, depth, (const void *)some_kinds);
}

static __always_inline void capture_kernel(void *ctx, struct stack_scratch *s)
{
	take_kernel(s, get_stack(ctx, s, HEADER_WORDS - 1, KERNEL_DEPTH_MAX + 1, 0));
}

static long sum_user_frame(__u32 i, void *ctx)
{
	struct stack_scratch *s = ((struct loop *)ctx)->s;
	__u32 at = s->kernel_depth + i;

	if (i >= USER_DEPTH_MAX || at >= DEPTH_MAX)
		return 1;
	s->sums[i] = s->sum = sum_frame(s->sum, s->words[HEADER_WORDS + at], FRAME_NATIVE);
	return 0;
}

/* Uses the kernel's unwinder: frame pointers only. */
static __always_inline void capture_user_by_kernel(void *ctx, struct stack_scratch *s)
{
	/* A mask, because older kernels forget what was compared once it is on the stack. */
	__u32 depth = s->kernel_depth & KERNEL_DEPTH_MAX, count;
	struct loop loop = {.s = s};

	if (s->sample_flags & SAMPLE_LEAF_KERNEL) {
		count = get_stack(ctx, s, HEADER_WORDS + depth, USER_DEPTH_MAX, BPF_F_USER_STACK);
		s->user_depth = count;
	} else {
		count = get_stack(ctx, s, HEADER_WORDS - 1, USER_DEPTH_MAX, BPF_F_USER_STACK);
		s->leaf = s->words[HEADER_WORDS - 1];
		s->user_depth = count ? count - 1 : 0;
	}
	if (count > USER_DEPTH_MAX)
		return;
	if (count && count >= config.stack_limit)
		s->stack_flags |= STACK_TRUNCATED;
	/* Linux 6.1 forgets the limit while the value is in memory. */
	barrier_var(depth);
	if (depth > KERNEL_DEPTH_MAX)
		return;
	bpf_probe_read_kernel(s->kinds + depth, count, (const void *)some_kinds + KERNEL_DEPTH_MAX);
	bpf_loop(s->user_depth, sum_user_frame, &loop, 0);
}

/* Sets s->frame to the frame of s->regs, where the walk begins. */
__noinline int begin_walk(struct stack_scratch *s)
{
	struct walk_frame *f;
	const bpf_user_pt_regs_t *r;

	if (!s)
		return 0;
	f = &s->frame;
	r = &s->regs;
	f->has_sp = f->has_others = f->is_pc = 1;
	f->by_fp = f->by_scan = 0;
	f->fp_at = f->base_at = 0;
#if defined(__TARGET_ARCH_arm64)
	f->pc = r->pc;
	f->sp = r->sp;
	f->fp = r->regs[29];
	f->base = r->regs[19];
	f->ra = r->regs[30];
	bpf_probe_read_kernel(f->other, sizeof(r->regs), r->regs);
#else
	f->pc = r->rip;
	f->sp = r->rsp;
	f->fp = r->rbp;
	f->base = r->rbx;
	f->ra = 0;
	f->other[0] = r->rax;
	f->other[1] = r->rdx;
	f->other[2] = r->rcx;
	f->other[3] = r->rbx;
	f->other[4] = r->rsi;
	f->other[5] = r->rdi;
	f->other[6] = r->rbp;
	f->other[7] = r->rsp;
	f->other[8] = r->r8;
	f->other[9] = r->r9;
	f->other[10] = r->r10;
	f->other[11] = r->r11;
	f->other[12] = r->r12;
	f->other[13] = r->r13;
	f->other[14] = r->r14;
	f->other[15] = r->r15;
#endif
	s->top_pc = f->pc;
	s->top_sp = f->sp;
	s->block = s->end_depth = 0;
	s->mapping.start = s->mapping.end = 0;
	return 1;
}

/*
 * Reads all registers with two calls: the verifier replaces each access to a field of `ctx` by
 * several instructions, and moves the rest of the program for it.
 */
__noinline int load_interrupted_regs(struct bpf_perf_event_data *ctx, struct stack_scratch *s)
{
	struct bpf_perf_event_data_kern *event = (void *)ctx;

	if (s)
		bpf_probe_read_kernel(&s->regs, sizeof(s->regs), BPF_CORE_READ(event, regs));
	return 0;
}

#if !IS_ARM64
/* The kernel's cpu_entry_area: stacks on which interrupts enter it, one page each. */
#define ENTRY_STACKS 0xfffffe0000000000ull
#define ENTRY_STACKS_END 0xfffffe8000000000ull
#define ENTRY_STACK_BYTES 4096

/*
 * Replaces the part of s->regs from the stack pointer `sp` on by the words pushed to `saved`, a
 * struct pt_regs.
 */
static __always_inline void take_pushed_regs(struct stack_scratch *s, __u64 saved, __u64 sp)
{
	__u64 skip = sp > saved ? sp - saved : 0;

	if (skip > sizeof(s->regs) - sizeof(__u64))
		return;
	bpf_probe_read_kernel((char *)&s->regs + skip, sizeof(s->regs) - skip,
			      (const void *)(saved + skip));
}

/*
 * Loads the registers with which user code was left, if an NMI came in the midst of the kernel's
 * entry or exit code: registers not pushed yet, or popped already, are still in the CPU. False
 * elsewhere. Follows arch/x86/entry/entry_64.S: a system call keeps the user's pc in rcx until all
 * is pushed, and so does its return.
 */
__noinline int load_entering_regs(struct bpf_perf_event_data *ctx, struct stack_scratch *s)
{
	__u64 saved, sp;

	if (!s)
		return 0;
	/* By way of memory: the verifier does not calculate with this pointer. */
	*(volatile __u64 *)&s->top_sp = (__u64)bpf_task_pt_regs(bpf_get_current_task_btf());
	saved = *(volatile __u64 *)&s->top_sp;
	load_interrupted_regs(ctx, s);
	sp = s->regs.rsp;
	if ((__s64)sp >= 0) {
		s->regs.rip = s->regs.rcx;
		return 1;
	}
	if (sp > saved && sp - saved <= sizeof(s->regs)) {
		s->regs.rip = s->regs.rcx;
		s->regs.rsp = 0; /* known once it has been pushed */
		take_pushed_regs(s, saved, sp);
		return 1;
	}
	if (sp <= ENTRY_STACKS || sp > ENTRY_STACKS_END)
		return 0;
	saved = ((sp - 1) | (ENTRY_STACK_BYTES - 1)) + 1 - sizeof(s->regs);
	/* The CPU has pushed the pc and the words above it; a return to user code does so later. */
	if (sp > saved + offsetof(bpf_user_pt_regs_t, rip))
		return 0;
	take_pushed_regs(s, saved, sp);
	return (s->regs.cs & 3) == 3;
}
#endif

/* Loads the registers with which the task left user code, by system call or interrupt. */
static __always_inline void load_user_regs(void *ctx, bool is_interrupted, struct task_struct *task,
					   struct stack_scratch *s)
{
	if (is_interrupted && !(s->sample_flags & SAMPLE_LEAF_KERNEL)) {
		load_interrupted_regs(ctx, s);
		return;
	}
#if !IS_ARM64
	if (is_interrupted && load_entering_regs(ctx, s))
		return;
#endif
	bpf_probe_read_kernel(&s->regs, sizeof(s->regs), (void *)bpf_task_pt_regs(task));
}

/*
 * Makes the next runtime of the walked process the first one of s->space. False: there is none, or
 * the stack is copied with frames, which has room for one runtime only.
 */
__noinline int turn_to_next_runtime(struct stack_scratch *s)
{
	struct space_runtime *runtimes;

	if (!s || s->managed_count)
		return 0;
	runtimes = s->space.runtimes;
	for (int turn = 1; turn < SPACE_RUNTIMES; turn++) {
		/* The helper copies in ascending order. */
		bpf_probe_read_kernel(runtimes, (SPACE_RUNTIMES - 1) * sizeof(*runtimes),
				      runtimes + 1);
		runtimes[SPACE_RUNTIMES - 1].kind = 0;
		if (!runtimes[0].kind)
			return 0;
		s->runtime = followed_kind(&runtimes[0]);
		if (s->runtime != RUNTIME_UNREAD || !runtimes[1].kind)
			return 1;
	}
	return 0;
}

/*
 * Loads the process's mappings into s->space. False if user space has not stored the current ones.
 */
static __always_inline bool find_space(struct task_struct *task,
				       const struct tracked_process *process,
				       struct stack_scratch *s, __u32 pid)
{
	struct unwind_space *space = bpf_map_lookup_elem(&unwind_spaces, &pid);

	if (!space || !process || space->execs != task->self_exec_id - process->first_exec)
		return false;
	s->space = *space;
#if !defined(HAS_OWN_STACK_SCRATCH) || defined(HAS_OWN_RUNTIME_SCRATCH)
	s->runtime = followed_kind(&s->space.runtimes[0]);
	if (s->runtime == RUNTIME_UNREAD && s->space.runtimes[1].kind)
		turn_to_next_runtime(s);
#endif
	return true;
}

/*
 * During an exec, the registers are those of the old program, whose memory is already gone: such a
 * stack does not count as incomplete.
 */
static __always_inline void forget_replaced_space(struct task_struct *task, struct stack_scratch *s)
{
	if (!(s->sample_flags & SAMPLE_LEAF_KERNEL) ||
	    !(s->stack_flags & (STACK_UNKNOWN | STACK_BROKEN)) ||
	    !bpf_core_field_exists(task->in_execve) || !core_read_bits(task, in_execve))
		return;
	s->user_depth = s->sum = 0;
	s->stack_flags &= ~(STACK_UNKNOWN | STACK_BROKEN | STACK_GUESSED | STACK_USER_PC);
	s->sample_flags |= SAMPLE_EXITING;
}

static __always_inline void cut_off(struct stack_scratch *s)
{
	s->stack_flags |= STACK_TRUNCATED;
	if (s->end_depth < USER_DEPTH_KEPT)
		return;
	s->user_depth = s->end_depth;
	s->sum = sum_of(s, s->end_depth);
}

/* Continues the walk with `turn`, a callback of bpf_loop(), up to the maximum depth of a stack. */
static __always_inline void walk_on(struct stack_scratch *s, long (*turn)(__u32 i, void *ctx),
				    void *loop)
{
	bpf_loop(s->depth_limit ? s->depth_limit : USER_DEPTH_MAX, turn, loop, 0);
	/* The loop ran out of turns. */
	if (!(s->stack_flags & (STACK_WHOLE | STACK_BROKEN | STACK_UNKNOWN)))
		cut_off(s);
}

static __always_inline void capture_user_by_walk(void *ctx, bool is_interrupted,
						 struct task_struct *task,
						 const struct tracked_process *process,
						 struct stack_scratch *s, __u32 pid)
{
	struct loop loop = {.s = s};

	bool is_known;

	load_user_regs(ctx, is_interrupted, task, s);
	begin_walk(s);
	s->pending = is_interrupted ? UNWIND_PENDING | UNWIND_PENDING_TICKS : UNWIND_PENDING;
	/* Determine this before the first frame: whether the frame's sp is noted depends on it. */
	is_known = find_space(task, process, s, pid);
	if (s->sample_flags & SAMPLE_LEAF_KERNEL)
		unwind_push(s, FRAME_NATIVE);
	else
		s->leaf = s->frame.pc;
	if (is_known)
		bpf_loop(s->depth_limit ? s->depth_limit : USER_DEPTH_MAX, unwind_turn, &loop, 0);
	else
		s->stack_flags |= STACK_UNKNOWN;
	/* If the thread runs none of the runtime's code, its stack is complete. */
	if (runtime_has(s->runtime, RUNTIME_WALK_FINDS) && !s->resumes && !turn_to_next_runtime(s))
		s->runtime = RUNTIME_NONE;
	/* The loop ran out of turns. */
	if (!(s->stack_flags & (STACK_WHOLE | STACK_BROKEN | STACK_UNKNOWN)))
		cut_off(s);
	forget_replaced_space(task, s);
}

/*
 * Requests a wakeup of user space if the current process's code has changed since its last stack.
 * Mappings that no stack follows can wait.
 */
__noinline int note_code(struct tracked_process *process)
{
	__u64 pages = BPF_CORE_READ(bpf_get_current_task_btf(), mm, exec_vm);

	if (!process || process->code_pages == pages)
		return 0;
	process->code_pages = pages;
	has_new_code = true;
	return 0;
}

#define UNKNOWN_CODE_WAIT_NS 5000000ull

/*
 * The same for a stack that ends in unknown code: the kernel counts writable code, such as that of
 * JIT compilers, as pages of data. Such a stack may also end at a garbage address, so requests are
 * rare.
 */
__noinline int note_writable_code(struct tracked_process *process)
{
	__u64 pages, now = bpf_ktime_get_ns();

	if (!process || now - process->asked < UNKNOWN_CODE_WAIT_NS)
		return 0;
	pages = BPF_CORE_READ(bpf_get_current_task_btf(), mm, data_vm);
	if (process->data_pages == pages)
		return 0;
	process->data_pages = pages;
	process->asked = now;
	has_new_code = true;
	return 0;
}

static __always_inline void capture_user(void *ctx, bool is_interrupted, struct task_struct *task,
					 struct tracked_process *process, struct stack_scratch *s,
					 __u32 pid)
{
	if (task->flags & PF_KTHREAD) {
		s->sample_flags |= SAMPLE_KERNEL_THREAD;
		return;
	}
	if (task->flags & PF_EXITING) {
		s->sample_flags |= SAMPLE_EXITING; /* the address space is gone */
		return;
	}
	note_code(process);
	if (config.unwind & UNWIND_BY_KERNEL) {
		capture_user_by_kernel(ctx, s);
	} else if (config.unwind) {
		capture_user_by_walk(ctx, is_interrupted, task, process, s, pid);
		if (s->stack_flags & STACK_UNKNOWN)
			note_writable_code(process);
	}
}

static __always_inline void begin_stack(struct stack_scratch *s)
{
	s->kernel_depth = s->user_depth = 0;
	s->sample_flags = s->stack_flags = 0;
	s->leaf = s->sum = 0;
	s->runtime = s->managed_count = s->resumes = 0;
}

static __always_inline void end_stack(struct stack_scratch *s)
{
	if (!s->leaf)
		s->sample_flags |= SAMPLE_NO_LEAF;
	/* Send a stack of the leaf alone only if its flags report how it ended. */
	if (!s->kernel_depth && !s->user_depth && !(s->stack_flags & ~STACK_USER_PC))
		s->sample_flags |= SAMPLE_NO_STACK;
}

/*
 * Fills s with the stack of the current task. `pid` is its process, `process` the filter's entry or
 * NULL. If `is_interrupted`, `ctx` is a struct bpf_perf_event_data; otherwise it belongs to a
 * tracepoint, which runs in the kernel and has no registers. `is_interrupted` must be a constant:
 * if `ctx` were compared with NULL instead, the compiler could make a branch in which `ctx` is the
 * number 0, which the verifier rejects as a context.
 */
static __always_inline void capture_stack(void *ctx, bool is_interrupted, struct task_struct *task,
					  struct tracked_process *process, struct stack_scratch *s,
					  __u32 pid)
{
	__u64 pc = is_interrupted ? PT_REGS_IP(&((struct bpf_perf_event_data *)ctx)->regs) : 0;

	begin_stack(s);
	/* Kernel addresses are in the upper half: negative as signed numbers, on all kernels. */
	if (!is_interrupted || (__s64)pc < 0)
		capture_kernel(ctx, s);
	capture_user(ctx, is_interrupted, task, process, s, pid);
	/* Read again: the verifier would track the two kinds of addresses separately. */
	if (is_interrupted)
		pc = PT_REGS_IP(
			(volatile bpf_user_pt_regs_t *)&((struct bpf_perf_event_data *)ctx)->regs);
	if (!s->leaf && pc) {
		s->leaf = pc;
		if ((__s64)pc < 0)
			s->sample_flags |= SAMPLE_LEAF_KERNEL;
	}
	end_stack(s);
}

/*
 * capture_stack() without kernel frames: the leaf is the pc at which the task left user code, by
 * system call or interrupt. For events on the way back to user code, independent of what the kernel
 * is doing.
 */
static __always_inline void capture_user_stack(void *ctx, struct task_struct *task,
					       struct tracked_process *process,
					       struct stack_scratch *s, __u32 pid)
{
	begin_stack(s);
	capture_user(ctx, false, task, process, s, pid);
	if (!s->leaf && !s->sample_flags) {
		bpf_probe_read_kernel(&s->regs, sizeof(s->regs), (void *)bpf_task_pt_regs(task));
		s->leaf = PT_REGS_IP(&s->regs);
	}
	end_stack(s);
}

/*
 * capture_stack() for an interrupted task. A global function, so the verifier checks it once,
 * independent of its callers.
 */
__noinline int capture_interrupted(struct bpf_perf_event_data *ctx, struct stack_scratch *s,
				   struct tracked_process *process, __u32 pid)
{
	if (s)
		capture_stack(ctx, true, bpf_get_current_task_btf(), process, s, pid);
	return 0;
}
