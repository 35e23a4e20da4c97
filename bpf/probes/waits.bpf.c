// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Records waits at each context switch: of the thread that leaves the CPU and of the next one.
 * Interrupts are disabled then and the run queue is locked; only an NMI (a tick of a hardware
 * counter) can interrupt.
 */
#include "bpf/own_scratch.bpf.h"

#include "bpf/capture_stack.bpf.h"
#include "bpf/emit.bpf.h"
#include "bpf/filter.bpf.h"
#include "bpf/filter_match.bpf.h"
#include "bpf/program_cost.bpf.h"
#include "bpf/stack_emit.bpf.h"
#include "bpf/user.bpf.h"
#include "bpf/wait.bpf.h"
#include "bpf/wait_choice.bpf.h"
#include "bpf/wait_send.bpf.h"

/* Runtimes' programs that finish the stack of a wait, by enum runtime_kind. */
struct runtime_programs runtime_switches SEC(".maps");

/* CLOCK_MONOTONIC ns at which recording began or resumed; 0: paused. Set by user space. */
__u64 waits_since = 0;

/* Frames of a switch that are searched for __schedule(). */
#define SCHEDULE_FRAMES 12
#define SCHEDULE_SEARCHES 64

/*
 * Begins a record of a task, given by its address. False: a filter excludes it. A global function,
 * like those below, so that the verifier checks it once.
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

/* Reports the whole CPU time of the current task, which will not run again. */
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
	*(__u64 *)&wait.reason = wait_reason_of(task, WAIT_DEAD);
	emit_output(count, ring, &wait, sizeof(wait), BPF_RB_NO_WAKEUP);
	return 0;
}

/* Returns false if the kernel does not report how long tasks are queued. */
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
 * run_delay_of() a task that is about to run, given by its address. Includes the time since it was
 * queued, which the kernel is about to add.
 */
static __always_inline __u64 last_run_delay_of(struct task_struct *task)
{
	__u64 delay = BPF_CORE_READ(task, sched_info.run_delay);
	__u64 queued = BPF_CORE_READ(task, sched_info.last_queued);
	__u64 clock = queued ? BPF_CORE_READ(task, se.cfs_rq, rq, clock) : 0;

	return clock > queued ? delay + clock - queued : delay;
}

/* Returns true if the wait that ends now has a REC_RUN in any recording. */
static __always_inline bool is_reported(const struct wait_row *row, __u64 now)
{
	return row->is_sampled || !row->left || now - row->left >= config.wait_long_ns;
}

struct run_record {
	struct rec_resumed run;
	struct run_waker waker;
};

/* Adds the wake-up, unless the thread was not asleep. Returns the size of the record. */
static __always_inline __u32 add_waker(struct run_record *rec, const struct wait_row *row)
{
	if (!config.wakeups || row->state == WAIT_RUNNABLE || !row->waker.woken) {
		rec->run.rec.words = sizeof(rec->run) / 8;
		return sizeof(rec->run);
	}
	rec->run.rec.flags |= RUN_WOKEN | (row->by_interrupt ? RUN_BY_INTERRUPT : 0);
	rec->waker = row->waker;
	return sizeof(*rec);
}

/*
 * Sends the wait of a task that arrives on this CPU; `reason`: the bytes of a struct wait_reason.
 */
__noinline int send_run(__u64 address, struct switch_state *st, const struct wait_row *row,
			__u64 now, __u64 reason)
{
	struct task_struct *task = (struct task_struct *)address;
	struct bpf_counters *count = own_counters();
	struct run_record all = {};
	struct rec_resumed *rec = &all.run;
	void *ring = own_ring();
	__u64 queued = 0;
	__u32 size;

	if (!st || !count || !row ||
	    !begin_wait_record(address, &rec->rec, REC_RUN, sizeof(all), now))
		return 0;
	rec->rec.flags = row->is_sampled ? RUN_SAMPLED : 0;
	if (!is_reported(row, now))
		rec->rec.flags |= RUN_SHORT;
	/* Without the start of the wait, its queued time is unknown. */
	if (!row->left || !knows_run_delay(task))
		rec->rec.flags |= RUN_QUEUE_UNKNOWN;
	else
		queued = last_run_delay_of(task) - row->run_delay;
	/*
	 * The kernel reads the run queue's clock at other moments, so the difference may be too
	 * large.
	 */
	rec->queued = queued > now - row->left ? now - row->left : queued;
	rec->start = row->left;
	rec->cpu_time = BPF_CORE_READ(task, se.sum_exec_runtime) >> 4;
	rec->chance = row->is_sampled ? row->chance : 0;
	*(__u64 *)&rec->reason = reason;
	size = add_waker(&all, row);
	if (!ring || !emit_output(count, ring, &all, size, BPF_RB_NO_WAKEUP))
		st->lost++;
	return 0;
}

/* Ends the wait of `task`, which arrives on this CPU. */
static __always_inline void note_arrival(struct task_struct *task, struct switch_state *st,
					 struct wait_row *row, __u64 now)
{
	__u64 length;

	/* Clocks of CPUs may differ a little. */
	if (row->left > now)
		row->left = now;
	length = now - row->left;
	if (row->left)
		note_length(row, length);
	if (config.wakeups || is_reported(row, now)) {
		__u64 reason = wait_reason_of(task, row->state);

		/* Read back, the address is a number to the verifier. */
		*(volatile __u64 *)&st->address = (__u64)task;
		send_run(*(volatile __u64 *)&st->address, st, row, now, reason);
	}
	row->is_off = row->is_sampled = 0;
	if (config.wakeups)
		row->waker.woken = 0;
}

/*
 * Ends the wait of the current task, which is about to leave this CPU, if its arrival was not
 * reported: kernels leave a switch out now and then. The run queue's clock tells when it arrived.
 */
static __always_inline void note_missed_arrival(struct task_struct *task, struct switch_state *st,
						struct wait_row *row, __u64 now)
{
	__u64 arrived, clock;

	if (!knows_run_delay(task))
		return;
	arrived = task->sched_info.last_arrival;
	clock = BPF_CORE_READ(task, se.cfs_rq, rq, clock);
	if (arrived && clock > arrived && now - (clock - arrived) > row->left)
		note_arrival(task, st, row, now - (clock - arrived));
}

/* Notes that the current task leaves the CPU. True: its wait becomes a sample. */
static __always_inline bool note_departure(struct task_struct *task, struct switch_state *st,
					   struct wait_row *row, __u64 now)
{
	row->left = now;
	row->run_delay = run_delay_of(task);
	row->state = wait_state_of(task);
	row->is_off = OFF_REPORTED;
	row->is_sampled = 0;
	/* Do not test row->state: the verifier would track each of its values. */
	if (task->__state & TASK_DEAD) {
		send_death(now);
		return false;
	}
	st->waits++;
	if (choose_wait(st, row, now))
		return true;
	note_unsampled_wait();
	return false;
}

struct schedule_search {
	struct stack_scratch *s;
	__u64 schedule; /* address in __schedule(); 0: not known yet */
	__u32 by_name; /* also look up names */
	__u32 found; /* number of frames before it; SCHEDULE_FRAMES: none found */
};

static long compare_frame(__u32 i, void *ctx)
{
	static const char format[] = "%ps";
	struct schedule_search *search = ctx;
	char text[16] = {};
	__u64 address[1];

	if (i >= SCHEDULE_FRAMES)
		return 1;
	address[0] = search->s->words[HEADER_WORDS - 1 + i];
	if (address[0] != search->schedule) {
		if (!search->by_name)
			return 0;
		bpf_snprintf(text, sizeof(text), format, address, sizeof(address));
		if (*(const __u64 *)text != *(const __u64 *)"__schedu" || text[8] != 'l' ||
		    text[9] != 'e')
			return 0;
		search->schedule = address[0];
	}
	search->found = i;
	return 1;
}

/* Sets how many frames of the stack in s come before __schedule(). */
__noinline int find_schedule(struct stack_scratch *s, struct switch_state *st)
{
	struct schedule_search search = {.s = s, .found = SCHEDULE_FRAMES};

	if (!s || !st)
		return 0;
	search.schedule = st->schedule;
	search.by_name = st->searches++ < SCHEDULE_SEARCHES;
	bpf_loop(SCHEDULE_FRAMES, compare_frame, &search, 0);
	st->schedule = search.schedule;
	st->skip = search.found < SCHEDULE_FRAMES ? search.found : 0;
	return 0;
}

/* The frames before __schedule() belong to this program, and vary with other attached programs. */
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

/* Adds the user side to the stack. False: the ring has no room. */
static __always_inline bool capture_wait(struct task_struct *task, struct stack_scratch *s,
					 struct rec *rec)
{
	struct tracked_process *process = find_current(task);
	void *ring = own_ring();

	if (!ring || is_filling(ring) || !user_is_told(process, rec))
		return false;
	s->depth_limit = WAIT_DEPTH_MAX;
	if (!(config.unwind & UNWIND_BY_KERNEL))
		capture_user(NULL, false, task, process, s, rec->pid);
	end_stack(s);
	return true;
}

/*
 * Begins the record of the wait that begins and completes the current task's stack. False: there is
 * nothing to send.
 */
__noinline bool begin_wait(struct stack_scratch *s, struct switch_state *st, struct wait_row *row)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct rec_wait *wait;

	if (!s || !st || !row)
		return false;
	wait = &st->wait;
	if (!begin_wait_record(bpf_get_current_task(), &wait->sample.rec, REC_WAIT, sizeof(*wait),
			       row->left))
		return false;
	wait->sample.rec.flags = 0;
	wait->sample.cpu_time = task->se.sum_exec_runtime >> 4;
	st->frames = 0;
	wait->start = row->left;
	wait->chance = row->chance;
	*(__u64 *)&wait->reason = wait_reason_of(task, row->state);
	if (capture_wait(task, s, &wait->sample.rec))
		return true;
	note_unsampled_wait();
	st->lost++;
	return false;
}

/* send_wait() without a runtime. */
__noinline int send_native_wait(struct stack_scratch *s, struct switch_state *st,
				struct wait_row *row)
{
	if (s && st && row)
		send_wait(s, st, row);
	return 0;
}

/*
 * Makes the beginning wait a sample. The kernel stack must be captured in this function: only here
 * is it that of the switch. Does not return if a runtime's program takes over.
 */
static __always_inline void sample_wait(void *ctx, struct task_struct *task,
					struct switch_state *st, struct wait_row *row)
{
	struct stack_scratch *s = own_stack();

	if (!s)
		return;
	begin_stack(s);
	capture_switch(ctx, s, st);
	if (config.unwind & UNWIND_BY_KERNEL)
		capture_user(ctx, false, task, NULL, s, 0);
	if (!begin_wait(s, st, row))
		return;
	if (runtime_adds_frames(s->runtime)) {
		bpf_tail_call(ctx, &runtime_switches, s->runtime);
		count_runtime_missed(s->runtime);
	}
	send_native_wait(s, st, row);
}

/* Forgets a wait that began before a pause: the thread may have run meanwhile. */
static __always_inline void forget_earlier_wait(struct wait_row *row)
{
	if (!row->left || row->left >= waits_since)
		return;
	row->left = 0;
	row->is_sampled = 0;
	row->state = WAIT_SLEEPING;
}

static __always_inline void tell_switch(void *ctx, struct task_struct *from, struct task_struct *to)
{
	struct wait_row *row, *leaving;
	struct switch_state *st;
	__u64 now;

	if (!waits_since)
		return;
	row = to->pid ? find_wait_row(to) : NULL;
	leaving = from->pid ? find_wait_row(from) : NULL;
	if (!row) {
		/* The compiler would merge the two tests and combine the pointers. */
		barrier_var(leaving);
		if (!leaving)
			return;
	}
	st = own_switch_state();
	if (!st)
		return;
	now = bpf_ktime_get_ns();
	if (row && row->is_off) {
		forget_earlier_wait(row);
		note_arrival(to, st, row, now);
	}
	if (leaving && leaving->is_off == OFF_REPORTED && leaving->left >= waits_since)
		note_missed_arrival(from, st, leaving, now);
	if (leaving && note_departure(from, st, leaving, now))
		sample_wait(ctx, from, st, leaving);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool is_preempted, struct task_struct *from, struct task_struct *to)
{
	RUN_TIMED_INLINE(TIMED_SWITCH, tell_switch(ctx, from, to));
	return 0;
}

/*
 * Forks and execs of recorded processes. The programs that enter them into the filter are attached
 * to the same tracepoints before these.
 */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_wait_fork, struct task_struct *parent, struct task_struct *child)
{
	/* The child now waits to run for the first time. */
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
