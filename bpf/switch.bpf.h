/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Context switches: where threads wait. The program of the clock's ticks runs at each, too: it has
 * the walker, which would take as long to verify a second time as all other programs together.
 * Ticks and switches do not interrupt each other, so they share the memory of stacks.
 *
 * The kernel tells of the thread that leaves, not of the one that comes: that one came when the
 * CPU switched last, which is dealt with when it leaves again, or at the next tick.
 */
#ifndef PROF_BPF_SWITCH_BPF_H
#define PROF_BPF_SWITCH_BPF_H

#include "bpf/capture_stack.bpf.h"
#include "bpf/emit.bpf.h"
#include "bpf/filter_match.bpf.h"
#include "bpf/stack_emit.bpf.h"
#include "bpf/user.bpf.h"
#include "bpf/wait.bpf.h"

struct switch_states {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct switch_state);
};

struct switch_states switch_states SEC(".maps");

#define CERTAIN (1ull << 32)
/* scale is in units of 2^-SCALE_SHIFT for each WAIT_MEAN_NS. */
#define SCALE_SHIFT 40
#define SCALE_MAX (1ull << SCALE_SHIFT)
/* A window changes the scale by a factor of 64 at most. In units of 2^-16. */
#define FACTOR_MIN (1u << 10)
#define FACTOR_MAX (1u << 22)

static __always_inline struct switch_state *own_switch_state(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&switch_states, &zero);
}

/* Scales chances so that as many stacks as allowed would have been expected in the last window. */
__noinline int begin_wait_window(struct switch_state *st)
{
	__u64 now = st ? st->last : 0, factor;

	if (!st)
		return 0;
	if (!st->random)
		st->random = (__u64)bpf_get_prandom_u32() << 32 | bpf_get_prandom_u32() | 1;
	factor = ((__u64)config.wait_quota << 32) / ((st->expected >> 16) | 1);
	if (!st->window || now - st->window >= 2 * config.wait_window_ns)
		factor = FACTOR_MAX;
	if (factor < FACTOR_MIN)
		factor = FACTOR_MIN;
	if (factor > FACTOR_MAX)
		factor = FACTOR_MAX;
	st->scale = (st->window ? st->scale >> 8 : SCALE_MAX) * factor >> 8;
	if (st->scale > SCALE_MAX)
		st->scale = SCALE_MAX;
	st->window = now;
	st->expected = st->taken = 0;
	return 0;
}

/* An xorshift generator: calling the kernel's takes longer than all else that is decided here. */
static __always_inline __u32 next_random(struct switch_state *st)
{
	__u64 x = st->random;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	st->random = x;
	return x * 0x2545f4914f6cdd1dull >> 32;
}

/*
 * Decides whether a wait of the thread becomes a sample and sets row->chance. The chance is in
 * proportion to the mean length of the thread's waits: by number alone, a thread that rarely waits
 * would hardly be seen beside one that always does. It never depends on this wait's own draw, so
 * sums of length / chance are unbiased.
 */
static __always_inline bool choose_wait(struct switch_state *st, struct wait_row *row)
{
	__u64 chance;

	row->chance = 0;
	if (!config.wait_quota)
		return true;
	if (st->last - st->window >= config.wait_window_ns)
		begin_wait_window(st);
	chance = row->mean * st->scale >> (SCALE_SHIFT - 32);
	if (chance > CERTAIN)
		chance = CERTAIN;
	st->expected += chance;
	if (chance < CERTAIN) {
		row->chance = chance ? chance : 1;
		if (next_random(st) >= row->chance)
			return false;
	}
	if (++st->taken >= config.wait_quota) {
		st->taken = config.wait_quota - config.wait_quota / 4 - 1;
		st->scale = st->scale / 2 + 1;
	}
	return true;
}

/*
 * Begins a record of the current task. False: a filter excludes it. As the others below a global
 * function: the verifier checks it once.
 */
__noinline bool begin_wait_record(struct rec *rec, __u8 kind, __u32 size, __u64 time)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct task_ids ids = {.tgid = task->tgid, .pid = task->pid};

	if (!rec)
		return false;
	rec_init(rec, kind, size, time);
	task_pids(task, ids, &rec->pid, &rec->tid);
	return !match_flags(task, ids, rec, task->comm);
}

static __always_inline void fill_wait(struct rec_wait *wait, const struct wait_row *row)
{
	wait->sample.rec.flags = 0;
	wait->sample.cpu_time = row->cpu_time;
	wait->start = row->left;
	wait->chance = row->chance;
	wait->reason = row->reason;
}

/* The thread will not run again: tells all the CPU time that it has used. */
__noinline int send_death(const struct wait_row *row)
{
	struct bpf_counters *count = own_counters();
	struct rec_wait wait = {};
	void *ring = own_ring();

	if (!row || !begin_wait_record(&wait.sample.rec, REC_WAIT, sizeof(wait), row->left) ||
	    !count || !ring)
		return 0;
	fill_wait(&wait, row);
	wait.sample.rec.flags = SAMPLE_NO_STACK | SAMPLE_NO_LEAF | SAMPLE_EXITING;
	emit_output(count, ring, &wait, sizeof(wait), BPF_RB_NO_WAKEUP);
	return 0;
}

static __always_inline __u64 run_delay_of(struct task_struct *task)
{
	return bpf_core_field_exists(task->sched_info.run_delay) ? task->sched_info.run_delay : 0;
}

/* Tells of the wait that ended when the current task arrived, at st->last. */
__noinline int send_run(struct switch_state *st, const struct wait_row *row)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct bpf_counters *count = own_counters();
	struct rec_resumed rec = {};
	void *ring = own_ring();

	if (!st || !row || !count || !begin_wait_record(&rec.rec, REC_RUN, sizeof(rec), st->last))
		return 0;
	rec.rec.flags = row->is_sampled ? RUN_SAMPLED : 0;
	/* Without a start, nothing tells how much was queued since then. */
	if (!row->left || !bpf_core_field_exists(task->sched_info.run_delay))
		rec.rec.flags |= RUN_QUEUE_UNKNOWN;
	else
		rec.queued = run_delay_of(task) - row->run_delay;
	/* The run queue's clock is read at other moments. */
	if (rec.queued > st->last - row->left)
		rec.queued = st->last - row->left;
	rec.start = row->left;
	rec.cpu_time = row->cpu_time;
	rec.chance = row->is_sampled ? row->chance : 0;
	rec.reason = row->reason;
	if (!ring || !emit_output(count, ring, &rec, sizeof(rec), BPF_RB_NO_WAKEUP))
		st->lost++;
	return 0;
}

static __always_inline void note_length(struct wait_row *row, __u64 length)
{
	__u64 units = (length >> WAIT_MEAN_SHIFT) + 1;
	__u32 mean = row->mean;

	if (units > WAIT_MEAN_MAX)
		units = WAIT_MEAN_MAX;
	row->mean = mean - mean / 8 + (__u32)units / 8;
	if (!row->mean)
		row->mean = 1;
}

/* The running thread has been on this CPU since st->last. */
static __always_inline void end_wait(struct switch_state *st, struct wait_row *row)
{
	__u64 length = st->last - row->left;

	if (!row->is_off)
		return;
	row->is_off = 0;
	if (row->left)
		note_length(row, length);
	if (row->is_sampled || !row->left || length >= config.wait_long_ns)
		send_run(st, row);
	row->is_sampled = 0;
}

/* At a tick: deals with the arrival of a thread that goes on running. */
static __always_inline void note_arrival(struct task_struct *task)
{
	struct switch_state *st = own_switch_state();
	struct wait_row *row;

	if (!st || !st->is_fresh)
		return;
	st->is_fresh = 0;
	row = find_wait_row(task);
	if (row)
		end_wait(st, row);
}

/* The current task leaves the CPU now, at st->last. True: its wait becomes a sample. */
static __always_inline bool note_departure(struct task_struct *task, struct switch_state *st,
					   struct wait_row *row)
{
	row->left = st->last;
	row->is_off = 1;
	row->is_sampled = 0;
	row->run_delay = run_delay_of(task);
	row->cpu_time = task->se.sum_exec_runtime >> 4;
	set_wait_reason(&row->reason, task);
	if (row->reason.state == WAIT_DEAD) {
		row->chance = 0;
		send_death(row);
		return false;
	}
	st->waits++;
	return choose_wait(st, row);
}

/* False: the ring has no room. */
static __always_inline bool write_wait(struct bpf_perf_event_data *ctx, struct task_struct *task,
				       struct rec_wait *wait)
{
	struct tracked_process *process = find_current(task);
	struct bpf_counters *count = own_counters();
	struct stack_scratch *s;
	void *ring = own_ring();
	__u32 zero = 0;

	s = bpf_map_lookup_elem(&scratches, &zero);
	if (!s || !count || !ring || is_filling(ring) || !user_is_told(process, &wait->sample.rec))
		return false;
	s->depth_limit = WAIT_DEPTH_MAX;
	capture_interrupted(ctx, s, process, wait->sample.rec.pid);
	s->depth_limit = 0;
	return place_stack(s, &wait->sample, config.copy_bytes / 4) &&
	       emit_output(count, ring, wait, sizeof(*wait), ring_flags(ring));
}

/* Sends the wait that begins and the current task's stack. */
static __always_inline void send_wait(struct bpf_perf_event_data *ctx, struct task_struct *task,
				      struct switch_state *st, struct wait_row *row)
{
	__u32 chance = row->chance;

	if (!begin_wait_record(&st->wait.sample.rec, REC_WAIT, sizeof(st->wait), row->left))
		return;
	fill_wait(&st->wait, row);
	if (!write_wait(ctx, task, &st->wait)) {
		st->lost++;
		return;
	}
	row->is_sampled = 1;
	st->sampled++;
	if (chance && (!st->chance_min || chance < st->chance_min))
		st->chance_min = chance;
}

/*
 * The current task leaves the CPU. Interrupts are disabled, and the run queue is locked. Calls few
 * functions, and each itself: returning from one is dear, and kernels before 6.6 allow only so much
 * stack to a chain of calls.
 */
static __always_inline void on_switch(struct bpf_perf_event_data *ctx, struct task_struct *task)
{
	struct switch_state *st = own_switch_state();
	struct wait_row *row;

	if (!st)
		return;
	row = task->pid ? find_wait_row(task) : NULL;
	if (row && st->is_fresh)
		end_wait(st, row);
	st->is_fresh = 1;
	st->last = bpf_ktime_get_ns();
	if (row && note_departure(task, st, row))
		send_wait(ctx, task, st, row);
}

#endif
