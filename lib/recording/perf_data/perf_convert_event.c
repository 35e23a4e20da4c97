/* SPDX-License-Identifier: MIT */
#include <linux/perf_event.h>
#include <string.h>

#include "lib/recording/perf_data/perf_convert.h"
#include "lib/stream/record/record.h"

/* More CPUs than any machine has; limits what a file can make us keep. */
#define CPUS_MAX 65535
#define CHANCE_CERTAIN UINT32_MAX

static uint32_t event_of(const struct perf_convert *c, uint64_t id)
{
	uint32_t attr = perf_attrs_find(&c->file->attrs, id);

	if (attr == UINT32_MAX)
		attr = 0;
	return c->file->attrs.rows.items[attr].event;
}

static void send_lost(struct perf_convert *c, const struct perf_input *in, uint32_t event,
		      uint64_t count)
{
	struct rec_lost *rec = perf_out_add(&c->out, REC_LOST, sizeof(*rec), in->time, 0, 0);

	rec->rec.cpu = (uint16_t)in->trailer.cpu;
	rec->cause = LOST_RING_FULL;
	rec->event = event == UINT32_MAX ? 0 : event;
	rec->count = count;
}

static void take_lost(struct perf_convert *c, struct perf_input *in)
{
	uint64_t id = ordered_u64(&in->body), count = ordered_u64(&in->body);

	if (!in->body.bytes.failed)
		send_lost(c, in, event_of(c, id), count);
}

static void take_lost_samples(struct perf_convert *c, struct perf_input *in)
{
	uint64_t count = ordered_u64(&in->body);

	if (!in->body.bytes.failed)
		send_lost(c, in, event_of(c, in->trailer.id), count);
}

/* The kernel says that it stops sampling on a CPU, then that it goes on. */
static void take_throttling(struct perf_convert *c, struct perf_input *in)
{
	uint32_t cpu = in->trailer.cpu;
	struct rec_throttled *rec;
	uint64_t id, since;

	ordered_u64(&in->body); /* time */
	id = ordered_u64(&in->body);
	if (in->body.bytes.failed || cpu >= CPUS_MAX)
		return;
	if (c->throttled.count <= cpu)
		vec_add_zeroed(&c->throttled, cpu + 1 - c->throttled.count);
	since = c->throttled.items[cpu];
	c->throttled.items[cpu] = in->head.type == PERF_RECORD_THROTTLE ? in->time : 0;
	if (in->head.type == PERF_RECORD_THROTTLE)
		return;
	rec = perf_out_add(&c->out, REC_THROTTLED, sizeof(*rec), in->time, 0, 0);
	rec->rec.cpu = (uint16_t)cpu;
	rec->duration = since && in->time > since ? in->time - since : 0;
	rec->event = event_of(c, id);
}

static struct wait_reason reason_of(const struct perf_task *task)
{
	return (struct wait_reason){
		.call = WAIT_CALL_UNKNOWN,
		.state = task->was_preempted ? WAIT_RUNNABLE : WAIT_SLEEPING,
	};
}

static void switch_out(struct perf_convert *c, const struct perf_input *in, struct perf_task *task)
{
	struct rec_wait *rec;

	if (task->on_ns && in->time > task->on_ns)
		task->cpu_ns += in->time - task->on_ns;
	task->on_ns = 0;
	task->off_ns = in->time;
	task->was_preempted = in->head.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
	rec = perf_out_add(&c->out, REC_WAIT, sizeof(*rec), in->time, task->pid, task->tid);
	rec->sample.rec.cpu = (uint16_t)in->trailer.cpu;
	rec->sample.rec.flags = SAMPLE_NO_STACK | SAMPLE_NO_LEAF;
	rec->sample.cpu_time = perf_convert_cpu_time(task, in->time);
	rec->start = in->time;
	rec->chance = CHANCE_CERTAIN;
	rec->reason = reason_of(task);
	/* The switch may have been recorded with its stack, too. */
	if (!task->switch_ns)
		return;
	rec->sample.rec.flags = task->switch_flags;
	rec->sample.leaf = task->switch_leaf;
	rec->sample.stack_id = task->switch_stack;
	task->switch_ns = 0;
}

static void switch_in(struct perf_convert *c, const struct perf_input *in, struct perf_task *task)
{
	struct rec_resumed *rec;

	task->on_ns = in->time;
	if (!task->off_ns)
		return;
	rec = perf_out_add(&c->out, REC_RUN, sizeof(*rec), in->time, task->pid, task->tid);
	rec->rec.cpu = (uint16_t)in->trailer.cpu;
	rec->rec.flags = RUN_SAMPLED | RUN_QUEUE_UNKNOWN;
	rec->start = task->off_ns;
	rec->cpu_time = perf_convert_cpu_time(task, in->time);
	rec->chance = CHANCE_CERTAIN;
	rec->reason = reason_of(task);
	task->off_ns = 0;
}

/* The idle task does not wait. */
static void take_switch(struct perf_convert *c, struct perf_input *in)
{
	struct perf_task *task;

	if (!in->trailer.tid || in->trailer.tid == UINT32_MAX)
		return;
	task = perf_tasks_get(&c->tasks, in->trailer.pid, in->trailer.tid);
	if (in->head.misc & PERF_RECORD_MISC_SWITCH_OUT)
		switch_out(c, in, task);
	else
		switch_in(c, in, task);
}

void perf_convert_wait(struct perf_convert *c, const struct perf_sample *sample,
		       const struct perf_place *place)
{
	const struct perf_task *task = perf_tasks_get(&c->tasks, sample->pid, sample->tid);
	const struct wait_reason reason = {.call = WAIT_CALL_UNKNOWN, .state = WAIT_SLEEPING};
	uint32_t cpu_time = perf_convert_cpu_time(task, sample->time);
	uint64_t start = sample->period < sample->time ? sample->time - sample->period : 0;
	struct rec_wait *wait;
	struct rec_resumed *run;

	if (!sample->period)
		return;
	wait = perf_out_add(&c->out, REC_WAIT, sizeof(*wait), sample->time, sample->pid,
			    sample->tid);
	perf_convert_fill(&wait->sample, sample, place);
	wait->sample.cpu_time = cpu_time;
	wait->start = start;
	wait->reason = reason;
	run = perf_out_add(&c->out, REC_RUN, sizeof(*run), sample->time, sample->pid, sample->tid);
	run->rec.cpu = UINT16_MAX;
	run->rec.flags = RUN_QUEUE_UNKNOWN;
	run->start = start;
	run->cpu_time = cpu_time;
	run->reason = reason;
}

bool perf_convert_event(struct perf_convert *c, struct perf_input *in)
{
	switch (in->head.type) {
	case PERF_RECORD_LOST:
		take_lost(c, in);
		return true;
	case PERF_RECORD_LOST_SAMPLES:
		take_lost_samples(c, in);
		return true;
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
		take_throttling(c, in);
		return true;
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		take_switch(c, in);
		return true;
	default:
		return false;
	}
}
