/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Takes the stacks of sleeping threads whose wait began before the recording, or is long enough to
 * need a stack but was not sampled. User space runs the iterator from one thread.
 *
 * All other programs can interrupt this one: define HAS_OWN_STACK_SCRATCH first, and HAS_OWN_FRAMES
 * if there is an add_frames(), see copy_of().
 */
#pragma once

#include "bpf/emit.bpf.h"
#include "bpf/filter.bpf.h"
#include "bpf/capture_stack.bpf.h"
#include "bpf/filter_match.bpf.h"
#include "bpf/stack_emit.bpf.h"
#include "bpf/user.bpf.h"
#include "bpf/wait.bpf.h"

/* Time for which the first visits wait for tables of the program's files, ns. */
#define SLEEPERS_PATIENCE_NS 500000000ull

/* Set by user space. */
__u64 sleepers_since = 0; /* time at which recording began or resumed, ns */
__u64 sleepers_mark = 0; /* added to `visited`, so that visits after a pause differ */
__u64 sleepers_after = WAIT_CERTAIN_NS; /* minimum length of waits to visit */
bool sleepers_final = false; /* this is the last visit before the recording ends */
__u64 sleepers_visited = 0; /* waits that got a stack */
__u64 sleepers_awake = 0; /* visits without a result, as the thread woke up */
__u64 sleepers_ns = 0; /* time of all visits */
/* The ring is filling up: the iterator stops at a thread and resumes there when read again. */
bool sleepers_lack_room = false;

/*
 * Kind of runtime whose own program must visit a due thread, unless this object is alone. 0: there
 * was none.
 */
__u32 sleepers_wanted = 0;
bool sleepers_is_alone = false;

__u64 fence = 0;
/* The wait of the visited thread. Not on the program's stack, which nested calls share. */
static struct rec_wait sleeper_wait;

/* Returns the start of the wait; 0: before recording began or was resumed. */
static __always_inline __u64 known_start(const struct wait_row *row)
{
	__u64 left = row->left;

	return left < sleepers_since ? 0 : left;
}

/* Orders earlier loads before later ones. */
static __always_inline void order_loads(void)
{
	__sync_lock_test_and_set(&fence, 1);
}

/* Distinguishes a wait from the thread's other waits. */
struct pause {
	__u64 switches;
	bool is_asleep; /* and has left the CPU */
};

/* A thread counts its switch before it has left the CPU, so read the state first. */
static __always_inline struct pause pause_of(struct task_struct *task)
{
	__u32 state = task->__state;
	struct pause pause = {
		.is_asleep = state && !(state & TASK_DEAD) && !task->on_cpu,
	};

	order_loads();
	pause.switches = task->nvcsw + task->nivcsw;
	return pause;
}

static __always_inline void capture_kernel_of(struct task_struct *task, struct stack_scratch *s)
{
	long size = bpf_get_task_stack(task, s->words + HEADER_WORDS - 1,
				       8 * (KERNEL_DEPTH_MAX + 1), 0);

	take_kernel(s, size > 0 ? (__u32)size / 8 : 0);
}

/* Maximum bytes copied of one stack: few pages, since each missing one costs a try. */
#define SLEEPER_BYTES_MAX (16u << 10)

/*
 * Copies `want` bytes, or fewer if the memory ends early: the kernel copies all or nothing. Returns
 * the bytes copied.
 */
static __always_inline __u32 copy_stack_of(struct task_struct *task, struct copy_scratch *c,
					   __u32 at, __u64 sp, __u32 want)
{
	__u32 size = want < SLEEPER_BYTES_MAX ? want : SLEEPER_BYTES_MAX;

	for (int i = 0; i < 6; i++) {
		barrier_var(size);
		if (size > SLEEPER_BYTES_MAX || at > KERNEL_DEPTH_MAX)
			return 0;
		if (!bpf_copy_from_user_task(c->words + COPY_HEADER_WORDS + at, size,
					     (const void *)sp, task, 0))
			return size & ~7u;
		/* Leave out the last page. */
		size -= ((sp + size - 1) & (COPY_PAGE - 1)) + 1;
	}
	return 0;
}

#ifdef HAS_OWN_FRAMES
#define is_for_another(pid) false
#else
static __always_inline bool is_for_another(__u32 pid)
{
	struct unwind_space *space = bpf_map_lookup_elem(&unwind_spaces, &pid);

	if (sleepers_is_alone || !space)
		return false;
	for (int i = 0; i < SPACE_RUNTIMES; i++) {
		__u32 kind = followed_kind(&space->runtimes[i]);

		if (runtime_has(kind, RUNTIME_SLEEPERS_OWN)) {
			sleepers_wanted = kind;
			return true;
		}
	}
	return false;
}

/* Finds the task's runtime frames; s->managed_count of them go into the copy. */
static __always_inline void add_frames(struct task_struct *task, struct tracked_process *process,
				       struct stack_scratch *s, const struct rec *like)
{
}
#endif

/* Returns the size of the REC_COPY in c, complete except for its id and time. */
static __always_inline __u32 copy_of(struct task_struct *task, struct stack_scratch *s,
				     struct copy_scratch *c)
{
	struct rec_copy *rec = (struct rec_copy *)c->words;
	__u32 depth = s->kernel_depth & KERNEL_DEPTH_MAX, below = below_sp(s->top_sp), bytes;

	bpf_probe_read_kernel(c->words + COPY_HEADER_WORDS, depth * 8, s->words + HEADER_WORDS);
	bytes = copy_stack_of(task, c, depth, s->top_sp - below,
			      stack_bytes(task, s->top_sp - below));
	rec->kernel_depth = depth;
	rec->below_sp = below;
	rec->stack_size = bytes;
	rec->other_size = 0;
	rec->managed_count = copy_managed(c, s, depth + bytes / 8);
	rec->go.g = 0;
	fill_regs(rec, s);
	return sizeof(*rec) + depth * 8 + bytes + rec->managed_count * sizeof(struct managed_frame);
}

/* Returns true if the address space is gone, or no longer matches the registers. */
static __always_inline bool has_left_space(struct task_struct *task)
{
	if (task->flags & PF_EXITING)
		return true;
	return bpf_core_field_exists(task->in_execve) && core_read_bits(task, in_execve);
}

static __always_inline bool has_user_side(struct task_struct *task, struct stack_scratch *s)
{
	if (task->flags & PF_KTHREAD)
		s->sample_flags |= SAMPLE_KERNEL_THREAD;
	else if (has_left_space(task))
		s->sample_flags |= SAMPLE_EXITING;
	else
		return config.unwind;
	return false;
}

/* Follows a frame pointer in the copied stack. 1: it leads nowhere. */
static long follow_frame_pointer(__u32 i, void *ctx)
{
	struct stack_scratch *s = ((struct loop *)ctx)->s;
	__u32 at;
	struct copy_scratch *c = own_copy();
	const struct rec_copy *rec;
	__u64 offset, pair[2];

	if (!c)
		return 1;
	rec = (const struct rec_copy *)c->words;
	offset = s->frame.fp - (s->top_sp - rec->below_sp);
	if (offset % 8 || offset >= rec->stack_size || rec->stack_size - offset < 16)
		return 1;
	at = COPY_HEADER_WORDS + rec->kernel_depth + offset / 8;
	barrier_var(at);
	if (at >= COPY_HEADER_WORDS + COPY_BODY_WORDS - 1)
		return 1;
	bpf_probe_read_kernel(pair, sizeof(pair), c->words + at);
	s->frame.pc = pair[1] & walk_pc_mask(&s->frame);
	if (!s->frame.pc || !unwind_push(s, FRAME_NATIVE) || pair[0] <= s->frame.fp)
		return 1;
	s->frame.fp = pair[0];
	return 0;
}

/* The kernel follows frame pointers of the running task only. */
static __always_inline void walk_frame_pointers(struct stack_scratch *s)
{
	struct loop loop = {.s = s};

	bpf_loop(config.stack_limit, follow_frame_pointer, &loop, 0);
}

/*
 * Fills s. Returns the size of the copy in c, from which the user side is to be unwound; 0: none.
 */
static __always_inline __u32 capture_sleeper(struct task_struct *task,
					     struct tracked_process *process,
					     struct stack_scratch *s, struct copy_scratch *c,
					     const struct rec *like)
{
	__u32 size = 0;

	begin_stack(s);
	capture_kernel_of(task, s);
	if (has_user_side(task, s)) {
		bpf_probe_read_kernel(&s->regs, sizeof(s->regs), (void *)bpf_task_pt_regs(task));
		begin_walk(s);
		if (s->sample_flags & SAMPLE_LEAF_KERNEL)
			unwind_push(s, FRAME_NATIVE);
		else
			s->leaf = s->frame.pc;
		if (!(config.unwind & UNWIND_BY_KERNEL)) {
			s->stack_flags |= STACK_UNKNOWN;
			add_frames(task, process, s, like);
		}
		size = copy_of(task, s, c);
		if (config.unwind & UNWIND_BY_KERNEL)
			walk_frame_pointers(s);
	}
	end_stack(s);
	return config.unwind & UNWIND_BY_KERNEL ? 0 : size;
}

static __always_inline __u32 emit_copy_of(struct stack_scratch *s, struct copy_scratch *c,
					  struct bpf_counters *count, void *ring, __u32 size)
{
	struct rec_copy *rec = (struct rec_copy *)c->words;

	rec->rec = s->like;
	rec->rec.kind = REC_COPY;
	rec->rec.flags = s->sample_flags & SAMPLE_LEAF_KERNEL ? COPY_LEAF_KERNEL : 0;
	if (config.interpreter_frames)
		rec->rec.flags |= COPY_KEEPS_INTERPRETER;
	rec->rec.words = size / 8;
	rec->stack_id = new_stack_id();
	barrier_var(size); /* as in put_frame() */
	if (size > sizeof(c->words) || !emit_output(count, ring, rec, size, BPF_RB_NO_WAKEUP))
		return 0;
	return rec->stack_id;
}

/* False: the ring has no room. A separate function, because the stack is short. */
static __noinline bool emit_wait(struct rec_wait *wait, __u32 copy_size)
{
	struct bpf_counters *count = own_counters();
	struct rec_sample *sample = &wait->sample;
	struct copy_scratch *c;
	struct stack_scratch *s;
	void *ring = own_ring();
	__u64 flags;

	s = own_stack();
	c = own_copy();
	if (!s || !c || !count || !ring)
		return true;
	sample->rec.flags = s->sample_flags;
	sample->leaf = s->leaf;
	s->like = sample->rec;
	if (copy_size)
		sample->stack_id = emit_copy_of(s, c, count, ring, copy_size);
	/* A small ring never has room for a copy. */
	if (!sample->stack_id && !(s->sample_flags & SAMPLE_NO_STACK))
		sample->stack_id = emit_stack(s, ring);
	if (!sample->stack_id && !(s->sample_flags & SAMPLE_NO_STACK))
		return false;
	/* The next visit may find no room: wake user space to make some. */
	flags = bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) + sizeof(*wait) >= config.wakeup_bytes
			? BPF_RB_FORCE_WAKEUP
			: BPF_RB_NO_WAKEUP;
	return emit_output(count, ring, wait, sizeof(*wait), flags);
}

/* Returns the ids in the form of bpf_get_current_uid_gid(). */
static __always_inline __u64 ids_of(struct task_struct *task)
{
	return (__u64)BPF_CORE_READ(task, cred, gid.val) << 32 | BPF_CORE_READ(task, cred, uid.val);
}

/* False: the ring has no room. */
static __always_inline bool visit(struct task_struct *task, struct tracked_process *process,
				  struct wait_row *row, struct pause before, struct rec_wait *wait)
{
	struct bpf_counters *count = own_counters();
	struct rec *head = &wait->sample.rec;
	struct copy_scratch *c;
	struct stack_scratch *s;
	void *ring = own_ring();
	struct pause after;
	__u32 size;

	s = own_stack();
	c = own_copy();
	if (!s || !c || !count || !ring)
		return true;
	if (bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) >= config.wakeup_bytes)
		return false;
	order_loads();
	size = capture_sleeper(task, process, s, c, head);
	wait->sample.cpu_time = task->se.sum_exec_runtime >> 4;
	*(__u64 *)&wait->reason = wait_reason_of(task, wait_state_of(task));
	/* Valid if the thread sleeps now; otherwise the next test fails. */
	head->time = bpf_ktime_get_ns();
	order_loads();
	after = pause_of(task);
	if (!after.is_asleep || after.switches != before.switches) {
		sleepers_awake++;
		return true;
	}
	if (!ids_are_told(process, head, ids_of(task)))
		return false;
	if (!emit_wait(wait, size))
		return false;
	row->visited = before.switches + sleepers_mark;
	sleepers_visited++;
	return true;
}

/* Returns true if the tables of the process's files may still reveal a runtime. */
static __always_inline bool may_be_premature(__u32 pid, __u64 now)
{
	struct unwind_space *space;

	if (!(config.unwind & UNWIND_BY_CFI) || sleepers_final ||
	    now - sleepers_since >= SLEEPERS_PATIENCE_NS)
		return false;
	space = bpf_map_lookup_elem(&unwind_spaces, &pid);
	return !space || space->is_pending;
}

/* True if the wait is long enough to need a stack, and has none. */
static __always_inline bool is_due(const struct wait_row *row, struct pause pause, __u64 now)
{
	__u64 start = known_start(row);

	if (!pause.is_asleep || (start && row->is_sampled) ||
	    row->visited == pause.switches + sleepers_mark)
		return false;
	/* A thread that already slept was not sampled. Give it some time to wake up by itself. */
	if (!start) {
		if (sleepers_final)
			return true;
		start = sleepers_since;
	}
	return now - start >= sleepers_after;
}

static __always_inline int visit_next(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct tracked_process *process;
	struct rec_wait *wait = &sleeper_wait;
	struct rec *head = &wait->sample.rec;
	struct task_ids ids;
	struct wait_row *row;
	struct pause pause;
	bool has_room;
	__u64 start;

	if (!task)
		return 0;
	ids = copy_ids(task);
	process = find_tracked(task, ids.tgid);
	if (!process)
		return 0;
	pause = pause_of(task);
	row = find_wait_row(task);
	start = bpf_ktime_get_ns();
	if (!row || !is_due(row, pause, start))
		return 0;
	__builtin_memset(wait, 0, sizeof(*wait));
	rec_init(head, REC_WAIT, sizeof(*wait), start);
	task_pids(task, ids, &head->pid, &head->tid);
	if (match_flags(task, ids, head, task->comm) || may_be_premature(head->pid, start) ||
	    is_for_another(head->pid))
		return 0;
	wait->start = known_start(row);
	has_room = visit(task, process, row, pause, wait);
	sleepers_ns += bpf_ktime_get_ns() - start;
	sleepers_lack_room = !has_room;
	return has_room ? 0 : 1;
}
