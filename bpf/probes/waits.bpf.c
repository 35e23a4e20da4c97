// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Records waits: at each context switch, of the thread that leaves the CPU and of the one that
 * comes. Interrupts are disabled then, and the run queue is locked; only a hardware counter's tick
 * (an NMI) can come in between.
 */
#define HAS_OWN_STACK_SCRATCH

#include "bpf/capture_stack.bpf.h"
#include "bpf/emit.bpf.h"
#include "bpf/filter.bpf.h"
#include "bpf/filter_match.bpf.h"
#include "bpf/stack_emit.bpf.h"
#include "bpf/user.bpf.h"
#include "bpf/wait.bpf.h"
#include "bpf/wait_choice.bpf.h"

struct switch_states {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct switch_state);
};

struct switch_states switch_states SEC(".maps");

/* __schedule() is among the first frames of a switch. */
#define SCHEDULE_FRAMES 12
#define SCHEDULE_SEARCHES 64

static __always_inline struct switch_state *own_switch_state(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&switch_states, &zero);
}

/*
 * Begins a record of a task, given by its address. False: a filter excludes it. As others below a
 * global function: the verifier checks it once.
 */
__noinline bool begin_wait_record(__u64 address, struct rec *rec, __u8 kind, __u32 size, __u64 time)
{
	struct task_struct *task = (struct task_struct *)address;
	struct task_ids ids = copy_ids(task);

	if (!rec)
		return false;
	rec_init(rec, kind, size, time);
	task_pids(task, ids, &rec->pid, &rec->tid);
	return !match_flags(task, ids, rec, task->comm);
}

/* The current task will not run again: tells all the CPU time that it has used. */
__noinline int send_death(__u64 time)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct bpf_counters *count = own_counters();
	struct rec_wait wait = {};
	void *ring = own_ring();

	if (!count || !ring ||
	    !begin_wait_record(bpf_get_current_task(), &wait.sample.rec, REC_WAIT, sizeof(wait),
			       time))
		return 0;
	wait.sample.rec.flags = SAMPLE_NO_STACK | SAMPLE_NO_LEAF | SAMPLE_EXITING;
	wait.sample.cpu_time = task->se.sum_exec_runtime >> 4;
	wait.start = time;
	wait.reason = wait_reason_of(task, WAIT_DEAD);
	emit_output(count, ring, &wait, sizeof(wait), BPF_RB_NO_WAKEUP);
	return 0;
}

/* False: the kernel does not tell how long tasks are queued. */
static __always_inline bool knows_run_delay(struct task_struct *task)
{
	return bpf_core_field_exists(task->sched_info.run_delay) &&
	       bpf_core_field_exists(task->se.cfs_rq) &&
	       bpf_core_field_exists(((struct cfs_rq *)NULL)->rq);
}

static __always_inline __u64 run_delay_of(struct task_struct *task)
{
	return knows_run_delay(task) ? task->sched_info.run_delay : 0;
}

/*
 * run_delay_of() a task that is about to run: with the time since it was queued, which the kernel
 * adds in a moment.
 */
static __always_inline __u64 last_run_delay_of(struct task_struct *task)
{
	__u64 delay = task->sched_info.run_delay, queued = task->sched_info.last_queued;
	__u64 clock;

	if (!queued)
		return delay;
	clock = BPF_CORE_READ(task, se.cfs_rq, rq, clock);
	return clock > queued ? delay + clock - queued : delay;
}

/* Tells of the wait that ends: `task` arrives on this CPU. */
static __always_inline void send_run(struct task_struct *task, const struct wait_row *row,
				     __u64 now)
{
	struct switch_state *st = own_switch_state();
	struct bpf_counters *count = own_counters();
	struct rec_resumed rec = {};
	void *ring = own_ring();
	__u64 address;

	if (!st || !count)
		return;
	/* Read back, the address is a number to the verifier. */
	*(volatile __u64 *)&st->address = (__u64)task;
	address = *(volatile __u64 *)&st->address;
	if (!begin_wait_record(address, &rec.rec, REC_RUN, sizeof(rec), now))
		return;
	rec.rec.flags = row->is_sampled ? RUN_SAMPLED : 0;
	/* Without a start, nothing tells how much was queued since then. */
	if (!row->left || !knows_run_delay(task))
		rec.rec.flags |= RUN_QUEUE_UNKNOWN;
	else
		rec.queued = last_run_delay_of(task) - row->run_delay;
	/* The run queue's clock is read at other moments. */
	if (rec.queued > now - row->left)
		rec.queued = now - row->left;
	rec.start = row->left;
	rec.cpu_time = task->se.sum_exec_runtime >> 4;
	rec.chance = row->is_sampled ? row->chance : 0;
	rec.reason = wait_reason_of(task, row->state);
	if (!ring || !emit_output(count, ring, &rec, sizeof(rec), BPF_RB_NO_WAKEUP))
		st->lost++;
}

/* The current task leaves the CPU. True: its wait becomes a sample. */
static __always_inline bool note_departure(struct task_struct *task, struct switch_state *st,
					   struct wait_row *row, __u64 now)
{
	row->left = now;
	row->run_delay = run_delay_of(task);
	row->state = wait_state_of(task);
	row->is_off = 1;
	row->is_sampled = 0;
	if (row->state == WAIT_DEAD) {
		send_death(now);
		return false;
	}
	st->waits++;
	return choose_wait(st, row, now);
}

/* Does the address belong to __schedule()? */
static __always_inline bool is_schedule(__u64 address)
{
	static const char format[] = "%ps";
	__u64 arguments[] = {address};
	char text[16] = {};

	bpf_snprintf(text, sizeof(text), format, arguments, sizeof(arguments));
	return *(__u64 *)text == *(const __u64 *)"__schedu" && text[8] == 'l' && text[9] == 'e';
}

/* Sets how many frames of the stack in s come before __schedule(). */
__noinline int find_schedule(struct stack_scratch *s, struct switch_state *st)
{
	bool by_name;

	if (!s || !st)
		return 0;
	for (__u32 i = 0; i < SCHEDULE_FRAMES; i++) {
		st->skip = i;
		if (s->words[HEADER_WORDS - 1 + i] == st->schedule)
			return 0;
	}
	st->skip = 0;
	by_name = st->searches++ < SCHEDULE_SEARCHES;
	for (__u32 i = 0; by_name && i < SCHEDULE_FRAMES; i++) {
		if (!is_schedule(s->words[HEADER_WORDS - 1 + i]))
			continue;
		st->schedule = s->words[HEADER_WORDS - 1 + i];
		st->skip = i;
		break;
	}
	return 0;
}

/* The frames before __schedule() are this program's, and differ as others come and go. */
static __always_inline void capture_switch(void *ctx, struct stack_scratch *s,
					   struct switch_state *st)
{
	__u32 count = get_stack(ctx, s, HEADER_WORDS - 1, KERNEL_DEPTH_MAX + 1,
				st->skip & BPF_F_SKIP_FIELD_MASK);

	if (s->words[HEADER_WORDS - 1] != st->schedule || !st->schedule) {
		if (st->skip)
			get_stack(ctx, s, HEADER_WORDS - 1, KERNEL_DEPTH_MAX + 1, 0);
		find_schedule(s, st);
		count = get_stack(ctx, s, HEADER_WORDS - 1, KERNEL_DEPTH_MAX + 1,
				  st->skip & BPF_F_SKIP_FIELD_MASK);
	}
	take_kernel(s, count);
}

/* False: the ring has no room. */
static __always_inline bool write_wait(void *ctx, struct task_struct *task, struct switch_state *st)
{
	struct rec_wait *wait = &st->wait;
	struct tracked_process *process = find_current(task);
	struct bpf_counters *count = own_counters();
	struct stack_scratch *s;
	void *ring = own_ring();
	__u32 zero = 0;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!s || !count || !ring || is_filling(ring) || !user_is_told(process, &wait->sample.rec))
		return false;
	s->depth_limit = WAIT_DEPTH_MAX;
	begin_stack(s);
	capture_switch(ctx, s, st);
	capture_user(ctx, false, task, process, s, wait->sample.rec.pid);
	end_stack(s);
	return place_stack(s, &wait->sample, config.copy_bytes / 4) &&
	       emit_output(count, ring, wait, sizeof(*wait), ring_flags(ring));
}

/* Sends the wait that begins and the current task's stack. */
static __always_inline void send_wait(void *ctx, struct task_struct *task, struct switch_state *st,
				      struct wait_row *row)
{
	struct rec_wait *wait = &st->wait;
	__u32 chance = row->chance;

	if (!begin_wait_record(bpf_get_current_task(), &wait->sample.rec, REC_WAIT, sizeof(*wait),
			       row->left))
		return;
	wait->sample.rec.flags = 0;
	wait->sample.cpu_time = task->se.sum_exec_runtime >> 4;
	wait->start = row->left;
	wait->chance = chance;
	wait->reason = wait_reason_of(task, row->state);
	if (!write_wait(ctx, task, st)) {
		st->lost++;
		return;
	}
	row->is_sampled = 1;
	st->sampled++;
	if (chance && (!st->chance_min || chance < st->chance_min))
		st->chance_min = chance;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool is_preempted, struct task_struct *from, struct task_struct *to)
{
	struct wait_row *row = to->pid ? find_wait_row(to) : NULL;
	struct switch_state *st;
	__u64 now = 0, length;

	if (row && row->is_off) {
		now = bpf_ktime_get_ns();
		length = now - row->left;
		if (row->left)
			note_length(row, length);
		if (row->is_sampled || !row->left || length >= config.wait_long_ns)
			send_run(to, row, now);
		row->is_off = row->is_sampled = 0;
	}
	row = from->pid ? find_wait_row(from) : NULL;
	if (!row)
		return 0;
	if (!now)
		now = bpf_ktime_get_ns();
	st = own_switch_state();
	if (st && note_departure(from, st, row, now))
		send_wait(ctx, from, st, row);
	return 0;
}

/*
 * Forks and execs of recorded processes: the programs of the same tracepoints that enter them into
 * the filter were attached before these.
 */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_wait_fork, struct task_struct *parent, struct task_struct *child)
{
	/* From now on it waits to run for the first time. */
	if (find_tracked(child, child->tgid))
		enter_wait_row(child, bpf_ktime_get_ns());
	return 0;
}

SEC("raw_tp/sched_process_exec")
int on_wait_exec(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (find_tracked(task, task->tgid))
		enter_wait_row(task, bpf_ktime_get_ns());
	return 0;
}
