// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Samples events other than the clock: PMU and kernel counters, and tracepoints. The attach cookie
 * is the event's number. The kernel lets no program of these kinds interrupt another on a CPU, so
 * they share the sampler's memory and do not cause events themselves.
 */
#include "bpf/emit.bpf.h"
#include "bpf/filter.bpf.h"
#include "bpf/capture_stack.bpf.h"
#include "bpf/event_state.bpf.h"
#include "bpf/filter_match.bpf.h"
#include "bpf/program_cost.bpf.h"
#include "bpf/runtime.bpf.h"
#include "bpf/stack_emit.bpf.h"
#include "bpf/user.bpf.h"

/* Indexed by event number. */
const volatile struct event_limit event_limits[EVENTS_MAX] = {};

/* Expects as many occurrences as in the previous window if it was adjacent. */
static __always_inline void begin_window(struct event_state *e,
					 const volatile struct event_limit *l, __u64 now)
{
	__u32 quota = l->quota ? l->quota : 1;

	e->period = now - e->window < 2 * l->window_ns ? e->seen / quota : 1;
	e->window = now;
	e->seen = e->taken = 0;
}

/*
 * Counts an occurrence. Returns the period of the sample to take now, 0 for none. Occurrences
 * without a sample add to the weight of the next sample, so sums stay exact.
 */
static __always_inline __u64 take_event(struct event_state *e, const volatile struct event_limit *l)
{
	__u64 pending, now;

	if (l->window_ns) {
		now = bpf_ktime_get_ns();
		if (now - e->window >= l->window_ns)
			begin_window(e, l, now);
		e->seen++;
	} else {
		e->period = l->period;
	}
	pending = ++e->pending;
	if (pending < e->period)
		return 0;
	e->pending = 0;
	if (l->window_ns && ++e->taken >= l->quota) {
		e->taken = l->quota / 2;
		e->period = e->period ? 2 * e->period : 2;
	}
	return pending;
}

/* False: the ring has no room. */
static __always_inline bool write_event(void *ctx, bool is_interrupted, struct task_struct *task,
					struct tracked_process *process, struct rec_event *rec)
{
	struct bpf_counters *count = own_counters();
	struct rec *head = &rec->sample.rec;
	struct stack_scratch *s;
	void *ring = own_ring();

	s = own_stack();
	if (!s || !count || !ring || is_filling(ring))
		return false;
	rec_init(head, REC_EVENT, sizeof(*rec), bpf_ktime_get_ns());
	if (!user_is_told(process, head))
		return false;
	if (is_interrupted)
		capture_interrupted(ctx, s, process, head->pid);
	else
		capture_stack(ctx, false, task, process, s, head->pid);
	if (is_interrupted)
		go_to_runtime(ctx, &runtime_programs, TIMED_EVENT, s, rec, sizeof(*rec),
			      config.copy_bytes / 4);
	else
		go_to_runtime(ctx, &runtime_tracepoints, TIMED_TRACEPOINT, s, rec, sizeof(*rec),
			      config.copy_bytes / 4);
	/* Events get a quarter of the copies, the clock the rest. */
	if (!place_stack(s, &rec->sample, config.copy_bytes / 4) ||
	    !emit_output(count, ring, rec, sizeof(*rec), ring_flags(ring)))
		return false;
	return true;
}

/*
 * `ctx` and `is_interrupted` as for capture_stack(). The record lies where a runtime's program
 * expects it: it does not fit on the stack of old kernels.
 */
static __always_inline void send_event(void *ctx, bool is_interrupted)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct tracked_process *process = find_current(task);
	struct task_ids ids = {.tgid = task->tgid, .pid = task->pid};
	struct runtime_scratch *m = own_runtime_scratch();
	struct rec_event *rec = m ? &m->pending.event : NULL;
	struct event_state *e;
	__u32 event;

	if (!task->pid || !process || !rec)
		return;
	__builtin_memset(rec, 0, sizeof(*rec));
	if (match_task(task, ids, &rec->sample.rec))
		return;
	event = rec->event = bpf_get_attach_cookie(ctx);
	e = bpf_map_lookup_elem(&event_states, &event);
	if (!e || event >= EVENTS_MAX)
		return;
	if (is_interrupted && event_limits[event].is_measured)
		rec->period = ((struct bpf_perf_event_data *)ctx)->sample_period;
	else
		rec->period = take_event(e, &event_limits[event]);
	if (!rec->period)
		return;
	/* Count before trying: a tail call to a runtime's program does not return. */
	e->samples++;
	if (!write_event(ctx, is_interrupted, task, process, rec))
		lose_event(e, rec->period);
}

SEC("perf_event")
int on_event(struct bpf_perf_event_data *ctx)
{
	RUN_TIMED(TIMED_EVENT, send_event(ctx, true));
	return 0;
}

SEC("tracepoint")
int on_tracepoint(void *ctx)
{
	RUN_TIMED(TIMED_TRACEPOINT, send_event(ctx, false));
	return 0;
}
