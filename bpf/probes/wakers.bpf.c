// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Makes a marker at the end of each long wait that has a stack: the waker, and the waker's stack.
 * The lock of the woken thread is held, and interrupts are disabled, unless it is the current one.
 */
/* A tick, or a hardware counter during a context switch, can interrupt these programs. */
#include "bpf/own_scratch.bpf.h"

#include "bpf/marker_stack.bpf.h"
#include "bpf/program_cost.bpf.h"
#include "bpf/wait.bpf.h"
#include "bpf/waking_frames.bpf.h"

/* Waits of this length or longer get a marker. */
#define WAKER_WAIT_NS 1000000

__u64 fence = 0;

/* Returns the record of the wait that ends on this CPU. */
PER_CPU(struct rec_waker, wakings, own_waking)

/*
 * Captures the kernel's stack. True: an interrupt is being served; the current task is not the
 * waker.
 */
static __always_inline bool capture_waking(void *ctx, struct stack_scratch *s)
{
	struct frame_scan scan = {.frames = s->words + HEADER_WORDS - 1};
	__u32 count;

	scan.count = get_stack(ctx, s, HEADER_WORDS - 1, KERNEL_DEPTH_MAX + 1, 0);
	bpf_loop(KERNEL_DEPTH_MAX + 1, scan_frame, &scan, 0);
	if (scan.is_interrupt)
		return true;
	count = get_stack(ctx, s, HEADER_WORDS - 1, KERNEL_DEPTH_MAX + 1,
			  scan.skip & BPF_F_SKIP_FIELD_MASK);
	take_kernel(s, count);
	return false;
}

/* Sends the record. `sample`: of the waker; NULL if the ring had no room for its stack. */
static __always_inline void finish_waking(const struct rec_sample *sample)
{
	struct rec_waker *w = own_waking();

	if (w)
		finish_marker(&w->rec, &w->stack, sample, sizeof(*w), sizeof(*w), false);
}

MARKER_END("tp_btf/sched_waking", end_waking, TIMED_WAKING, finish_waking(ended_marker_sample()))

struct marker_ends marker_ends SEC(".maps") = {.values = {[0] = (void *)end_waking}};

/*
 * Names the waker. Returns its process, whose kernel stack was captured. NULL: it is an interrupt
 * or not recorded, so its stack was not requested.
 */
static __always_inline struct tracked_process *name_waker(void *ctx, struct task_struct *task,
							  struct stack_scratch *s,
							  struct rec_waker *w,
							  struct rec_sample *sample)
{
	struct tracked_process *process = find_current(task);
	struct task_ids ids = {.tgid = task->tgid, .pid = task->pid};

	/* An idle CPU only ends waits in interrupts. */
	if (!task->pid || capture_waking(ctx, s)) {
		w->rec.flags = WAKER_INTERRUPT;
		return NULL;
	}
	task_pids(task, ids, &sample->rec.pid, &sample->rec.tid);
	bpf_probe_read_kernel_str(w->name, sizeof(w->name), task->comm);
	return process && !match_flags(task, ids, &sample->rec, task->comm) ? process : NULL;
}

static __always_inline void tell_waker(void *ctx, struct rec_waker *w, struct stack_scratch *s)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct rec head = {.time = w->rec.time};
	struct rec_sample *sample = begin_marker_sample(&head);
	struct tracked_process *process;

	if (!sample)
		return;
	sample->rec.flags = SAMPLE_NO_STACK | SAMPLE_NO_LEAF;
	sample->leaf = sample->stack_id = 0;
	begin_stack(s);
	s->depth_limit = WAIT_DEPTH_MAX;
	process = name_waker(ctx, task, s, w, sample);
	if (!process) {
		finish_waking(sample);
	} else if (!begin_marker_stack(process, sample)) {
		finish_waking(NULL);
	} else {
		capture_user(ctx, false, task, process, s, sample->rec.pid);
		end_stack(s);
		finish_waking(send_marker_stack(ctx, s, 0) ? sample : NULL);
	}
}

/* Returns true if the ending wait has a stack and is long. Sets its start. */
static __always_inline bool is_told(struct task_struct *task, struct wait_row *row, __u64 now,
				    __u64 *start)
{
	__u64 left = row->left;

	if (!row->is_off || task->on_cpu)
		return false;
	/* The task may still be leaving the CPU: do not mix its new values with earlier ones. */
	__sync_lock_test_and_set(&fence, 1);
	if (left != row->left)
		return false;
	*start = left > markers.since ? left : markers.since;
	if (now < *start + WAKER_WAIT_NS)
		return false;
	return row->is_sampled || now - *start >= WAIT_CERTAIN_NS;
}

static __always_inline void tell_waking(void *ctx, struct task_struct *woken)
{
	struct wait_row *row = find_wait_row(woken);
	struct rec_waker *w = own_waking();
	struct stack_scratch *s;
	struct task_ids ids;
	__u64 now;

	s = own_stack();
	if (!row || !markers.since || !w || !s)
		return;
	now = bpf_ktime_get_ns();
	if (!is_told(woken, row, now, &w->start))
		return;
	ids = copy_ids(woken);
	rec_init(&w->rec, REC_WAKER, sizeof(*w), now);
	if (!match_task(woken, ids, &w->rec))
		tell_waker(ctx, w, s);
}

SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct *woken)
{
	RUN_TIMED(TIMED_WAKING, tell_waking(ctx, woken));
	return 0;
}
