// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * USDT probes: sends their arguments, with the stack. The attach cookie is the number of the
 * arguments' layout. In the middle of an uprobe's program the kernel may let other tasks run, so
 * each CPU's memory has an owner.
 */
#include "bpf/own_scratch.bpf.h"

#include "bpf/marker_stack.bpf.h"
#include "bpf/probed_tasks.bpf.h"
#include "bpf/program_cost.bpf.h"
#include "bpf/usdt_arguments.bpf.h"

/* A struct rec_usdt under construction, with room for all strings. */
struct usdt_scratch {
	__u64 words[(sizeof(struct rec_usdt) + USDT_TEXTS_MAX * USDT_TEXT_MAX) / 8];
	__u64 is_owned; /* with the CPU's stack_scratch and runtime_scratch, until finish_hit() */
};

PER_CPU(struct usdt_scratch, usdt_scratches, own_usdt_scratch)

/* Arguments being read. */
struct argument_loop {
	const void *registers;
	const struct usdt_layout *layout;
	struct rec_usdt *rec;
};

/* Appends a string. Returns false if it is unreadable or does not fit. */
static __always_inline bool copy_usdt_text(struct rec_usdt *rec, __u64 address, __u64 *value)
{
	__u32 used = rec->text_size;
	long size;

	if (used > (USDT_TEXTS_MAX - 1) * USDT_TEXT_MAX)
		return false;
	size = bpf_probe_read_user_str(rec->text + used, USDT_TEXT_MAX, (const void *)address);
	if (size < 1 || size > USDT_TEXT_MAX)
		return false;
	/* The terminator is not sent. */
	size--;
	rec->text_size = used + size;
	*value = used | (__u64)size << 32;
	return true;
}

static long read_argument(__u32 i, void *ctx)
{
	struct argument_loop *loop = ctx;
	const struct usdt_argument *a;
	struct rec_usdt *rec = loop->rec;
	__u64 value = 0;

	if (i >= USDT_ARGUMENTS_MAX || i >= loop->layout->count)
		return 1;
	a = &loop->layout->arguments[i];
	if (!read_usdt_argument(loop->registers, a, &value))
		return 0;
	if (a->flags & USDT_TEXT) {
		if (!copy_usdt_text(rec, value, &value))
			return 0;
		rec->texts |= 1 << i;
	}
	rec->values[i] = value;
	rec->readable |= 1 << i;
	return 0;
}

/* Returns the record's size; 0: no record. A global function, so the verifier checks it once. */
__noinline int read_arguments(__u32 number)
{
	struct usdt_layout *layout = bpf_map_lookup_elem(&usdt_layouts, &number);
	struct argument_loop loop = {
		.registers = (const void *)bpf_task_pt_regs(bpf_get_current_task_btf()),
		.layout = layout,
	};
	__u32 size;

	loop.rec = (void *)own_usdt_scratch();
	if (!layout || !loop.rec)
		return 0;
	loop.rec->probe = layout->probe;
	loop.rec->count = layout->count;
	loop.rec->readable = loop.rec->texts = loop.rec->reserved = 0;
	loop.rec->text_size = 0;
	bpf_loop(USDT_ARGUMENTS_MAX, read_argument, &loop, 0);
	size = sizeof(*loop.rec) + loop.rec->text_size;
	return size;
}

/* Sends the probe's record. `sample`: NULL if the ring had no room for its stack. */
static __always_inline void finish_hit(void *ctx, const struct rec_sample *sample)
{
	struct usdt_scratch *scratch = own_usdt_scratch();
	struct rec_usdt *rec = (struct rec_usdt *)scratch;
	__u32 size = sample ? read_arguments(bpf_get_attach_cookie(ctx)) : 0;
	bool is_sent = false;

	if (!scratch)
		return;
	if (sample && size >= sizeof(*rec)) {
		set_marker_stack(&rec->stack, sample);
		is_sent = send_marker(&rec->rec, size,
				      sizeof(*rec) + USDT_TEXTS_MAX * USDT_TEXT_MAX, true);
	}
	count_marker(is_sent);
	__sync_lock_test_and_set(&scratch->is_owned, 0);
}

MARKER_END("uprobe", end_usdt, TIMED_USDT, finish_hit(ctx, ended_marker_sample()))

struct marker_ends marker_ends SEC(".maps") = {.values = {[0] = (void *)end_usdt}};

static __always_inline void tell_hit(void *ctx, struct task_struct *task,
				     struct tracked_process *process, struct usdt_scratch *scratch)
{
	struct task_ids ids = {.tgid = task->tgid, .pid = task->pid};
	struct rec_usdt *rec = (struct rec_usdt *)scratch->words;

	rec_init(&rec->rec, REC_USDT, sizeof(*rec), bpf_ktime_get_ns());
	if (match_task(task, ids, &rec->rec))
		__sync_lock_test_and_set(&scratch->is_owned, 0);
	else
		finish_hit(ctx, send_user_marker_stack(ctx, task, process, &rec->rec, 0));
}

SEC("uprobe")
int on_usdt(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct tracked_process *process = find_current(task);
	struct usdt_scratch *scratch;

	scratch = own_usdt_scratch();
	if (!markers.since || !process || !scratch)
		return 0;
	if (__sync_lock_test_and_set(&scratch->is_owned, 1))
		count_marker(false);
	else
		RUN_TIMED(TIMED_USDT, tell_hit(ctx, task, process, scratch));
	return 0;
}

PROBED_TASKS(on_usdt_fork, on_usdt_exec, REC_USDT_TASK)
