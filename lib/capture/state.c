/* SPDX-License-Identifier: MIT */
#include "lib/capture/state_internal.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/record/record.h"

/* Facts with such keys are the last records: no epoch comes after them. */
#define END_KEY "end."

struct capture_state *capture_state_new(void)
{
	struct capture_state *s = xcalloc(1, sizeof(*s));

	s->kernel = mapping_table_new();
	state_tasks_init(&s->tasks);
	return s;
}

void capture_state_free(struct capture_state *s)
{
	if (!s)
		return;
	vec_release(&s->lasting);
	vec_release(&s->counter_infos);
	vec_release(&s->counters);
	mapping_table_drop(s->kernel);
	state_tasks_release(&s->tasks);
	state_stacks_release(&s->stacks);
	free(s);
}

void *state_copy(const struct rec *rec)
{
	return xmemdup(rec, record_size(rec));
}

void state_replace(struct rec **kept, const struct rec *rec)
{
	free(*kept);
	*kept = state_copy(rec);
}

#define APPEND(log, rec) memcpy(vec_add_zeroed(log, (rec)->words), rec, record_size(rec))

static void take_map(struct capture_state *s, const struct rec_map *rec)
{
	bool is_kernel = rec->rec.flags & MAP_KERNEL_SPACE;
	struct mapping mapping = {
		.start = rec->start,
		.end = rec->end,
		.file_offset = rec->file_offset,
		.module = rec->module_id,
	};
	struct mapping_table **table = &s->kernel;

	if (rec->module_id == NO_REC_MODULE) {
		mapping.module = is_kernel ? NO_REC_MODULE : MAPPING_ANON;
		mapping.file_offset = rec->start;
	}
	if (!is_kernel)
		table = &state_tasks_process(&s->tasks, &rec->rec)->mappings;
	if (mapping_table_insert(table, &mapping, s->tasks.stamp + 1))
		s->tasks.stamp++;
}

static void take_counter(struct capture_state *s, const struct rec_counter *rec)
{
	struct state_counter *row = NULL;

	vec_for_each(&s->counters, struct state_counter *, other) {
		if (other->total.counter == rec->counter)
			row = other;
	}
	if (!row) {
		row = vec_add_zeroed(&s->counters, 1);
		row->total = *rec;
		row->total.rec.words = sizeof(row->total) / 8;
		row->total.rec.flags = COUNTER_TOTAL;
		row->total.delta = 0;
	}
	row->total.rec.time = rec->rec.time;
	row->total.delta = (int64_t)((uint64_t)row->total.delta + (uint64_t)rec->delta);
}

static void take_labels(struct capture_state *s, const struct rec *rec)
{
	struct state_thread *thread = state_tasks_thread(&s->tasks, rec);

	if (!thread)
		return;
	free(thread->labels);
	thread->labels = state_copy(rec);
}

static void take_wait(struct capture_state *s, const struct rec_wait *rec)
{
	struct state_thread *thread = state_tasks_thread(&s->tasks, &rec->sample.rec);

	s->stacks.is_wanted = true;
	if (!thread || rec->reason.state == WAIT_DEAD)
		return;
	if (!thread->wait)
		thread->wait = xmalloc(sizeof(*thread->wait));
	*thread->wait = *rec;
	thread->wait->sample.rec.words = sizeof(*rec) / 8;
}

static void take_run(struct capture_state *s, const struct rec *rec)
{
	struct state_thread *thread = state_tasks_thread(&s->tasks, rec);

	s->stacks.is_wanted = true;
	if (!thread)
		return;
	free(thread->wait);
	thread->wait = NULL;
}

static void take_meta(struct capture_state *s, const struct rec_meta *rec)
{
	if (rec->key_size < strlen(END_KEY) || memcmp(rec->text, END_KEY, strlen(END_KEY)) != 0)
		APPEND(&s->lasting, &rec->rec);
}

/* Takes what belongs to a process as a whole. */
static void take_of_process(struct capture_state *s, const struct rec *rec)
{
	struct state_process *p = state_tasks_process(&s->tasks, rec);

	if (rec->kind == REC_ARGUMENTS)
		state_replace(&p->arguments, rec);
	else if (rec->kind == REC_CONTAINER)
		state_replace(&p->container, rec);
	else if (rec->kind == REC_USER)
		state_replace(&p->user, rec);
	else
		state_code_add(p, (const struct rec_code *)rec);
}

void capture_state_take(struct capture_state *s, const struct rec *rec)
{
	switch (rec->kind) {
	case REC_STACK:
		state_stacks_add(&s->stacks, (const struct rec_stack *)rec);
		break;
	case REC_WAIT:
		take_wait(s, (const struct rec_wait *)rec);
		break;
	case REC_RUN:
		take_run(s, rec);
		break;
	case REC_FORK:
		state_tasks_fork(&s->tasks, (const struct rec_fork *)rec);
		break;
	case REC_NAME:
		state_tasks_name(&s->tasks, (const struct rec_name *)rec);
		break;
	case REC_EXIT:
		state_tasks_exit(&s->tasks, (const struct rec_exit *)rec);
		break;
	case REC_MAP:
		take_map(s, (const struct rec_map *)rec);
		break;
	case REC_ARGUMENTS:
	case REC_CONTAINER:
	case REC_USER:
	case REC_CODE:
		take_of_process(s, rec);
		break;
	case REC_LABELS:
		take_labels(s, rec);
		break;
	case REC_COUNTER_INFO:
		APPEND(&s->counter_infos, rec);
		break;
	case REC_COUNTER:
		take_counter(s, (const struct rec_counter *)rec);
		break;
	case REC_META:
		take_meta(s, (const struct rec_meta *)rec);
		break;
	case REC_MODULE:
	case REC_SECTION:
	case REC_SYMBOL:
	case REC_EVENT_NAME:
	case REC_SCHEMA:
	case REC_SETTING:
	case REC_CPU:
		APPEND(&s->lasting, rec);
		break;
	}
}

static void give_log(const uint64_t *words, size_t count, record_sink_fn *sink, void *ctx)
{
	for (size_t at = 0; at < count;) {
		const struct rec *rec = (const struct rec *)(words + at);

		sink(ctx, rec);
		at += rec->words;
	}
}

void capture_state_give(struct capture_state *s, record_sink_fn *sink, void *ctx)
{
	give_log(s->lasting.items, s->lasting.count, sink, ctx);
	state_maps_give(s->kernel, 0, true, sink, ctx);
	state_tasks_give(&s->tasks, sink, ctx);
	give_log(s->counter_infos.items, s->counter_infos.count, sink, ctx);
	vec_for_each(&s->counters, const struct state_counter *, row)
		sink(ctx, &row->total.rec);
	state_threads_give(&s->tasks, &s->stacks, sink, ctx);
	state_stacks_renew(&s->stacks, &s->tasks);
}

size_t capture_state_stack_bytes(const struct capture_state *s)
{
	return s->stacks.words.count * sizeof(uint64_t);
}
