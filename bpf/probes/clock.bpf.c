// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Samples the running task and its stack at each clock tick. */
#include "bpf/filter.bpf.h"
#include "bpf/emit.bpf.h"
#include "bpf/capture_stack.bpf.h"
#include "bpf/filter_match.bpf.h"
#include "bpf/background.bpf.h"
#include "bpf/program_cost.bpf.h"
#include "bpf/stack_emit.bpf.h"
#include "bpf/user.bpf.h"

/* Additional intervals that a tick represents. Set by user space along with a longer period. */
__u32 tick_intervals = 0;

/*
 * Returns the CPU time of the running task in ns. The kernel updates its own count only
 * occasionally while a task runs (at its tick, when it leaves the CPU). If the task has not
 * switched since the previous sample on this CPU, it has run all the time: add the clock's
 * difference to its previous count.
 */
static __always_inline __u64 task_cpu_time(struct task_struct *task, struct stack_scratch *s,
					   __u64 now)
{
	__u64 switches = task->nvcsw + task->nivcsw;
	__u64 cpu_time = task->se.sum_exec_runtime;
	__u64 start = task->start_time;
	__u32 pid = task->pid;

	if (s->last_pid == pid && s->last_start == start && s->last_switches == switches) {
		__u64 guess = s->last_cpu_time + (now - s->last_time);

		if (guess > cpu_time)
			cpu_time = guess;
	}
	s->last_pid = pid;
	s->last_start = start;
	s->last_switches = switches;
	s->last_time = now;
	s->last_cpu_time = cpu_time;
	return cpu_time;
}

/*
 * The sample lies where a runtime's program expects it: it does not fit on the stack of old
 * kernels.
 */
static __always_inline void send_sample(struct bpf_perf_event_data *ctx, struct task_struct *task,
					struct tracked_process *process, struct stack_scratch *s,
					struct bpf_counters *count, struct rec_sample *sample)
{
	struct task_ids ids = {.tgid = task->tgid, .pid = task->pid};
	void *ring = own_ring();

	rec_init(&sample->rec, REC_SAMPLE, sizeof(*sample), bpf_ktime_get_ns());
	if (match_task(task, ids, &sample->rec)) {
		__sync_fetch_and_add(&count->other_ticks, 1 + tick_intervals);
		count_background();
		return;
	}
	if (!ring) {
		__sync_fetch_and_add(&count->lost_no_ring, 1);
		return;
	}
	if (!user_is_told(process, &sample->rec)) {
		__sync_fetch_and_add(&count->lost_samples, 1 + tick_intervals);
		return;
	}
	sample->rec.weight = 1 + tick_intervals;
	capture_interrupted(ctx, s, process, sample->rec.pid);
	sample->cpu_time = task_cpu_time(task, s, sample->rec.time) >> 4;
	go_to_runtime(ctx, &runtime_programs, TIMED_TICK, s, sample, sizeof(*sample),
		      config.copy_bytes);
	if (!place_stack(s, sample, config.copy_bytes)) {
		__sync_fetch_and_add(&count->lost_samples, 1 + tick_intervals);
		return;
	}
	if (!emit_output(count, ring, sample, sizeof(*sample), ring_flags(ring)))
		__sync_fetch_and_add(&count->lost_samples, 1 + tick_intervals);
}

static __always_inline void tick(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct bpf_counters *count = own_counters();
	struct runtime_scratch *m = own_runtime_scratch();
	struct tracked_process *process;
	struct stack_scratch *s;

	if (!count || !m)
		return;
	if (!task->pid) {
		__sync_fetch_and_add(&count->idle_ticks, 1 + tick_intervals);
		return;
	}
	process = find_current(task);
	if (!process) {
		__sync_fetch_and_add(&count->other_ticks, 1 + tick_intervals);
		count_background();
		return;
	}
	s = own_stack();
	if (s)
		send_sample(ctx, task, process, s, count, &m->pending.sample);
}

SEC("perf_event")
int on_tick(struct bpf_perf_event_data *ctx)
{
	struct program_cost *cost = own_cost(TIMED_TICK);

	if (cost)
		begin_cost(cost);
	/* Looks the row up again: keeping it would exceed the stack on old kernels. */
	tick(ctx);
	end_run(TIMED_TICK, 0);
	return 0;
}
