/* SPDX-License-Identifier: MIT */
#include "lib/recording/perf_data/perf_convert.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/stream/record/record.h"

#define SECOND_NS 1000000000ull
/* Tracepoint of a thread that leaves its CPU. */
#define SWITCH_NAME "sched:sched_switch"

/* The samples of a clock have a fixed distance. */
static uint64_t interval_of(const struct perf_attrs *attrs)
{
	vec_for_each(&attrs->rows, const struct perf_attr *, attr) {
		if (attr->event || !attr->period)
			continue;
		if (!attr->is_frequency)
			return attr->period;
		return attr->period < SECOND_NS ? SECOND_NS / attr->period : 1;
	}
	return 0;
}

void perf_convert_init(struct perf_convert *c, struct perf_file *file)
{
	*c = (struct perf_convert){.file = file};
	perf_modules_init(&c->modules, &file->features, &c->out);
	perf_stacks_init(&c->stacks, &c->out);
	c->interval_ns = interval_of(&file->attrs);
	vec_for_each(&file->attrs.rows, const struct perf_attr *, attr)
		c->has_switches |= attr->has_switches;
}

void perf_convert_release(struct perf_convert *c)
{
	perf_stacks_release(&c->stacks);
	perf_tracepoints_release(&c->tracepoints);
	perf_counts_release(&c->counts);
	perf_modules_release(&c->modules);
	perf_tasks_release(&c->tasks);
	vec_for_each(&c->cgroups, struct perf_cgroup *, cgroup)
		free(cgroup->path);
	vec_release(&c->cgroups);
	vec_release(&c->throttled);
	vec_release(&c->out.words);
}

void perf_convert_begin(struct perf_convert *c)
{
	vec_for_each(&c->file->attrs.rows, const struct perf_attr *, attr) {
		size_t size = strlen(attr->name);
		struct rec_event_name *rec;

		if (!attr->event || attr->event == UINT32_MAX)
			continue;
		rec = perf_out_add(&c->out, REC_EVENT_NAME, rec_event_name_size(size), 0, 0, 0);
		rec->event = attr->event;
		rec->name_size = (uint32_t)size;
		memcpy(rec->name, attr->name, size);
	}
	perf_tracepoints_begin(&c->tracepoints, c->file, &c->out);
}

uint32_t perf_convert_cpu_time(const struct perf_task *task, uint64_t time)
{
	uint64_t ns = task->cpu_ns;

	if (task->on_ns && time > task->on_ns)
		ns += time - task->on_ns;
	return (uint32_t)(ns >> 4);
}

static const char *cgroup_path(const struct perf_convert *c, uint64_t id)
{
	vec_for_each(&c->cgroups, const struct perf_cgroup *, cgroup) {
		if (cgroup->id == id)
			return cgroup->path;
	}
	return NULL;
}

/* A sample tells the control group that its process is in. */
static void send_cgroup(struct perf_convert *c, const struct perf_sample *sample)
{
	struct perf_process *process = perf_tasks_process(&c->tasks, sample->pid);
	const char *path;
	struct rec_container *rec;
	size_t size;

	if (!sample->cgroup || process->cgroup == sample->cgroup)
		return;
	process->cgroup = sample->cgroup;
	path = cgroup_path(c, sample->cgroup);
	if (!path)
		return;
	size = strcmp(path, "/") == 0 ? 0 : strlen(path);
	rec = perf_out_add(&c->out, REC_CONTAINER, rec_container_size(size), sample->time,
			   sample->pid, sample->tid);
	rec->cgroup_size = (uint32_t)size;
	memcpy(rec->cgroup, path, size);
}

void perf_convert_fill(struct rec_sample *rec, const struct perf_sample *sample,
		       const struct perf_place *place)
{
	rec->rec.flags = place->flags;
	rec->rec.cpu = sample->cpu < UINT16_MAX ? (uint16_t)sample->cpu : UINT16_MAX;
	rec->leaf = place->leaf;
	rec->stack_id = place->stack;
}

/* A tick of the clock. */
static void send_tick(struct perf_convert *c, const struct perf_attr *attr,
		      const struct perf_sample *sample, const struct perf_place *place)
{
	struct perf_task *task = perf_tasks_get(&c->tasks, sample->pid, sample->tid);
	uint64_t period = attr->sample_type & PERF_SAMPLE_PERIOD ? sample->period : c->interval_ns;
	uint64_t weight = c->interval_ns ? (period + c->interval_ns / 2) / c->interval_ns : 1;
	struct rec_sample *rec;

	/* Without switches, ticks tell how long a task ran; the idle task never runs. */
	if (!c->has_switches && sample->pid)
		task->cpu_ns += period;
	rec = perf_out_add(&c->out, REC_SAMPLE, sizeof(*rec), sample->time, sample->pid,
			   sample->tid);
	perf_convert_fill(rec, sample, place);
	rec->rec.weight = weight < 1 ? 1 : weight < UINT16_MAX ? (uint16_t)weight : UINT16_MAX;
	rec->cpu_time = perf_convert_cpu_time(task, sample->time);
}

static void send_event(struct perf_convert *c, const struct perf_attr *attr,
		       const struct perf_sample *sample, const struct perf_place *place)
{
	struct rec_event *rec = perf_out_add(&c->out, REC_EVENT, sizeof(*rec), sample->time,
					     sample->pid, sample->tid);

	perf_convert_fill(&rec->sample, sample, place);
	rec->period = sample->period;
	rec->event = attr->event;
}

/*
 * A sample of a group ({a,b}:S) is one of each member that has counted something since the last
 * one. The leader's own is sent already.
 */
static void send_members(struct perf_convert *c, const struct perf_attr *leader,
			 const struct perf_sample *sample, const struct perf_place *place)
{
	const struct perf_attrs *attrs = &c->file->attrs;
	struct perf_sample part = *sample;

	for (uint64_t i = 0; i < sample->value_count; i++) {
		size_t at = i * sample->value_words;
		uint64_t value = ordered_word(sample->values, at, sample->is_swapped);
		uint64_t id = ordered_word(sample->values, at + 1, sample->is_swapped);
		uint32_t member = perf_attrs_find(attrs, id);
		const struct perf_attr *attr;

		if (member == UINT32_MAX)
			continue;
		attr = &attrs->rows.items[member];
		part.period = perf_counts_increase(&c->counts, id,
						   attr->is_inherited ? sample->tid : 0, value);
		if (part.period && attr != leader && attr->event && attr->event != UINT32_MAX)
			send_event(c, attr, &part, place);
	}
}

/* Samples without times follow each other at the distance of the clock. */
static void set_time(struct perf_convert *c, struct perf_sample *sample)
{
	if (!c->file->has_times)
		sample->time = c->untimed++ * (c->interval_ns ? c->interval_ns : SECOND_NS / 1000);
}

/* The thread is about to leave the CPU: its wait has this stack. */
static void note_switch(struct perf_convert *c, const struct perf_sample *sample,
			const struct perf_place *place)
{
	struct perf_task *task = perf_tasks_get(&c->tasks, sample->pid, sample->tid);

	task->switch_ns = sample->time;
	task->switch_leaf = place->leaf;
	task->switch_stack = place->stack;
	task->switch_flags = place->flags;
}

void perf_convert_sample(struct perf_convert *c, const struct perf_attr *attr,
			 struct perf_sample *sample, uint16_t misc)
{
	uint16_t mode = misc & PERF_RECORD_MISC_CPUMODE_MASK;
	struct perf_place place;

	if (mode == PERF_RECORD_MISC_GUEST_KERNEL || mode == PERF_RECORD_MISC_GUEST_USER) {
		c->file->left_out[PERF_LEFT_GUEST]++;
		return;
	}
	if (attr->event == UINT32_MAX && !attr->is_wait) {
		c->file->left_out[PERF_LEFT_EVENTS]++;
		return;
	}
	set_time(c, sample);
	if (attr->sample_type & PERF_SAMPLE_CGROUP)
		send_cgroup(c, sample);
	place = perf_stacks_place(&c->stacks, attr, sample, mode == PERF_RECORD_MISC_KERNEL,
				  &c->tasks);
	if (attr->is_wait)
		perf_convert_wait(c, sample, &place);
	else if (attr->event)
		send_event(c, attr, sample, &place);
	else
		send_tick(c, attr, sample, &place);
	send_members(c, attr, sample, &place);
	if (attr->type != PERF_TYPE_TRACEPOINT)
		return;
	perf_tracepoints_sample(&c->tracepoints, (uint32_t)(attr - c->file->attrs.rows.items),
				sample, &place, &c->out);
	if (c->has_switches && strcmp(attr->name, SWITCH_NAME) == 0)
		note_switch(c, sample, &place);
}

/* Cuts the trailer off, and reads it. */
static void read_trailer(struct perf_input *in, bool is_swapped)
{
	const uint64_t type = in->attr->sample_type;
	size_t words = !!(type & PERF_SAMPLE_TID) + !!(type & PERF_SAMPLE_TIME) +
		       !!(type & PERF_SAMPLE_ID) + !!(type & PERF_SAMPLE_STREAM_ID) +
		       !!(type & PERF_SAMPLE_CPU) + !!(type & PERF_SAMPLE_IDENTIFIER);
	size_t size = bytes_left(&in->body.bytes);
	struct ordered_bytes b;

	in->trailer = (struct perf_trailer){.cpu = UINT32_MAX};
	if (!in->attr->has_trailer || size < words * 8)
		return;
	b = ordered_bytes_of(in->body.bytes.end - words * 8, words * 8, is_swapped);
	in->body.bytes.end -= words * 8;
	if (type & PERF_SAMPLE_TID) {
		in->trailer.pid = ordered_u32(&b);
		in->trailer.tid = ordered_u32(&b);
	}
	if (type & PERF_SAMPLE_TIME)
		ordered_u64(&b);
	if (type & PERF_SAMPLE_ID)
		in->trailer.id = ordered_u64(&b);
	if (type & PERF_SAMPLE_STREAM_ID)
		ordered_u64(&b);
	if (type & PERF_SAMPLE_CPU)
		in->trailer.cpu = ordered_u32(&b);
}

void perf_convert_record(struct perf_convert *c, const void *record, uint64_t time)
{
	const struct perf_file *file = c->file;
	struct perf_input in = {.head = perf_file_head(file, record), .time = time};
	uint32_t attr = perf_file_attr(file, record);
	const char *body = (const char *)record + sizeof(struct perf_event_header);
	size_t size = in.head.size - sizeof(struct perf_event_header);
	struct perf_sample sample;

	/* It was known when the record was read. */
	if (attr >= file->attrs.rows.count)
		return;
	in.attr = &file->attrs.rows.items[attr];
	if (in.head.type == PERF_RECORD_SAMPLE) {
		if (perf_sample_read(&sample, in.attr, body, size, file->is_swapped)) {
			sample.time = time;
			perf_convert_sample(c, in.attr, &sample, in.head.misc);
		} else {
			c->file->damaged_bytes += in.head.size;
		}
		return;
	}
	in.body = ordered_bytes_of(body, size, file->is_swapped);
	read_trailer(&in, file->is_swapped);
	if (!perf_convert_task(c, &in) && !perf_convert_event(c, &in))
		c->file->left_out[PERF_LEFT_OTHER]++;
	if (in.body.bytes.failed)
		c->file->damaged_bytes += in.head.size;
}
