// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Probes that programs declare (USDT): sends their arguments, with the stack. The attach cookie is
 * the number of the arguments' layout. The kernel may let other tasks run in the middle of a
 * program of user code's breakpoints, so each CPU's memory has an owner.
 */
#define HAS_PREEMPTIBLE_STACK_SCRATCH

#include "bpf/capture_stack.bpf.h"
#include "bpf/marker.bpf.h"
#include "bpf/program_cost.bpf.h"
#include "bpf/stack_emit.bpf.h"
#include "bpf/user.bpf.h"

struct usdt_layouts {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, USDT_LAYOUTS_MAX);
	__type(key, __u32);
	__type(value, struct usdt_layout);
};

struct usdt_layouts usdt_layouts SEC(".maps");

/* A struct rec_usdt being made, with room for all texts. */
struct usdt_scratch {
	__u64 words[(sizeof(struct rec_usdt) + USDT_TEXTS_MAX * USDT_TEXT_MAX) / 8];
	__u64 is_owned;
};

struct usdt_scratches {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct usdt_scratch);
};

struct usdt_scratches usdt_scratches SEC(".maps");

/* Arguments being read. */
struct argument_loop {
	const void *registers;
	const struct usdt_layout *layout;
	struct rec_usdt *rec;
};

static __always_inline __u64 read_register(const void *registers, __u32 at)
{
	__u64 value = 0;

	if (at != USDT_NO_REGISTER)
		bpf_probe_read_kernel(&value, sizeof(value), registers + at);
	return value;
}

static __always_inline __u64 address_of(const void *registers, const struct usdt_argument *a)
{
	__u64 index = read_register(registers, a->index);

	if (a->flags & USDT_INDEX_SIGNED)
		index = (__s64)(__s32)index;
	else if (a->flags & USDT_INDEX_LOW)
		index = (__u32)index;
	return read_register(registers, a->base) + (index << (a->shift & 63)) + a->number;
}

/* Keeps so many bytes of a value. */
static __always_inline __u64 narrow(__u64 value, __u32 size, bool is_signed)
{
	__u32 unused = (64 - size * 8) & 63;

	value <<= unused;
	return is_signed ? (__u64)((__s64)value >> unused) : value >> unused;
}

/* Copies a text behind the others. False: it is unreadable, or there is no room. */
static __always_inline bool copy_usdt_text(struct rec_usdt *rec, __u64 address, __u64 *value)
{
	__u32 used = rec->text_size;
	long size;

	if (used > (USDT_TEXTS_MAX - 1) * USDT_TEXT_MAX)
		return false;
	size = bpf_probe_read_user_str(rec->text + used, USDT_TEXT_MAX, (const void *)address);
	if (size < 1 || size > USDT_TEXT_MAX)
		return false;
	/* The end is not sent. */
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
	if (a->kind == USDT_UNREADABLE)
		return 0;
	if (a->kind == USDT_CONSTANT)
		value = a->number;
	else if (a->kind == USDT_REGISTER)
		value = read_register(loop->registers, a->base) >> (a->shift & 63);
	else if (bpf_probe_read_user(&value, sizeof(value) < a->size ? sizeof(value) : a->size,
				     (const void *)address_of(loop->registers, a)))
		return 0;
	value = narrow(value, a->size, a->flags & USDT_SIGNED);
	if (a->flags & USDT_TEXT) {
		if (!copy_usdt_text(rec, value, &value))
			return 0;
		rec->texts |= 1 << i;
	}
	rec->values[i] = value;
	rec->readable |= 1 << i;
	return 0;
}

/* A global function: the verifier checks it once. Returns the record's size; 0: none. */
__noinline int read_arguments(__u32 number)
{
	struct usdt_layout *layout = bpf_map_lookup_elem(&usdt_layouts, &number);
	struct argument_loop loop = {
		.registers = (const void *)bpf_task_pt_regs(bpf_get_current_task_btf()),
		.layout = layout,
	};
	__u32 zero = 0, size;

	loop.rec = bpf_map_lookup_elem(&usdt_scratches, &zero);
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

/* Completes the sample, whose head is set. False: the ring has no room for its stack. */
static __always_inline bool send_user_stack(void *ctx, struct task_struct *task,
					    struct tracked_process *process,
					    struct rec_sample *sample)
{
	struct stack_scratch *s;
	void *ring = own_ring();
	__u32 zero = 0;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!s || !ring || is_filling(ring) || !user_is_told(process, &sample->rec))
		return false;
	capture_user_stack(ctx, task, process, s, sample->rec.pid);
	/* Takes a quarter of the room for copies at most; the rest is for samples. */
	return place_stack(s, sample, config.copy_bytes / 4);
}

/* False: the ring has no room. */
static __always_inline bool send_hit(struct pt_regs *ctx, struct task_struct *task,
				     struct tracked_process *process, struct rec_usdt *rec)
{
	struct rec_sample sample = {.rec = rec->rec};
	void *ring = own_ring();
	__u32 size;

	rec_init(&sample.rec, REC_SAMPLE, sizeof(sample), rec->rec.time);
	if (!ring || !send_user_stack(ctx, task, process, &sample))
		return false;
	size = read_arguments(bpf_get_attach_cookie(ctx));
	if (size < sizeof(*rec))
		return false;
	set_marker_stack(&rec->stack, &sample);
	return send_marker(&rec->rec, size, sizeof(*rec) + USDT_TEXTS_MAX * USDT_TEXT_MAX, true);
}

static __always_inline void tell_hit(struct pt_regs *ctx, struct task_struct *task,
				     struct tracked_process *process, struct rec_usdt *rec)
{
	struct task_ids ids = {.tgid = task->tgid, .pid = task->pid};

	rec_init(&rec->rec, REC_USDT, sizeof(*rec), bpf_ktime_get_ns());
	if (!match_task(task, ids, &rec->rec))
		count_marker(send_hit(ctx, task, process, rec));
}

SEC("uprobe")
int on_usdt(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct tracked_process *process = find_current(task);
	struct usdt_scratch *scratch;
	__u32 zero = 0;

	scratch = bpf_map_lookup_elem(&usdt_scratches, &zero);
	if (!markers.since || !process || !scratch)
		return 0;
	if (__sync_lock_test_and_set(&scratch->is_owned, 1)) {
		count_marker(false);
		return 0;
	}
	RUN_TIMED(TIMED_USDT, tell_hit(ctx, task, process, (struct rec_usdt *)scratch->words));
	__sync_lock_test_and_set(&scratch->is_owned, 0);
	return 0;
}

/* Has user space read it at once: the process may come by a probe any time now. */
static __always_inline void send_task(struct task_struct *task, struct task_struct *parent)
{
	struct task_ids ids = copy_ids(task), parent_ids;
	struct rec_usdt_task *rec;
	__u32 tid;

	rec = emit_reserve_event(REC_USDT_TASK, sizeof(*rec));
	if (!rec)
		return;
	task_pids(task, ids, &rec->rec.pid, &rec->rec.tid);
	rec->parent_pid = rec->reserved = 0;
	if (parent) {
		parent_ids = copy_ids(parent);
		task_pids(parent, parent_ids, &rec->parent_pid, &tid);
	}
	emit_submit(rec, BPF_RB_FORCE_WAKEUP);
}

SEC("raw_tp/sched_process_fork")
int BPF_PROG(on_usdt_fork, struct task_struct *parent, struct task_struct *child)
{
	__u32 tgid = BPF_CORE_READ(parent, tgid), child_tgid = BPF_CORE_READ(child, tgid);

	if (child_tgid != tgid && !config.skip_children && find_tracked(parent, tgid))
		send_task(child, parent);
	return 0;
}

/* An exec by another thread than the first: that one is gone, and with it what was attached. */
SEC("raw_tp/sched_process_exec")
int BPF_PROG(on_usdt_exec, struct task_struct *task, __u32 old_pid)
{
	__u32 tgid = BPF_CORE_READ(task, tgid);

	if (old_pid != tgid && find_tracked(task, tgid))
		send_task(task, NULL);
	return 0;
}
