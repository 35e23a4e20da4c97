/* SPDX-License-Identifier: MIT */
#include "lib/stream/capture/state_internal.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/stream/record/record.h"

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
	vec_release(&s->gone);
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

static void take_map(struct capture_state *s, const struct rec *r)
{
	const struct rec_map *rec = (const struct rec_map *)r;
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

static void take_counter(struct capture_state *s, const struct rec *r)
{
	const struct rec_counter *rec = (const struct rec_counter *)r;
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

static void take_wait(struct capture_state *s, const struct rec *r)
{
	const struct rec_wait *rec = (const struct rec_wait *)r;
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

static void take_meta(struct capture_state *s, const struct rec *r)
{
	const struct rec_meta *rec = (const struct rec_meta *)r;

	if (rec->key_size < strlen(END_KEY) || memcmp(rec->text, END_KEY, strlen(END_KEY)) != 0)
		APPEND(&s->lasting, &rec->rec);
}

static void take_arguments(struct capture_state *s, const struct rec *rec)
{
	state_replace(&state_tasks_process(&s->tasks, rec)->arguments, rec);
}

static void take_container(struct capture_state *s, const struct rec *rec)
{
	state_replace(&state_tasks_process(&s->tasks, rec)->container, rec);
}

static void take_resource(struct capture_state *s, const struct rec *rec)
{
	state_replace(&state_tasks_process(&s->tasks, rec)->resource, rec);
}

static void take_user(struct capture_state *s, const struct rec *rec)
{
	state_replace(&state_tasks_process(&s->tasks, rec)->user, rec);
}

static void take_code(struct capture_state *s, const struct rec *rec)
{
	state_code_add(state_tasks_process(&s->tasks, rec), (const struct rec_code *)rec);
}

static void add_stack(struct capture_state *s, const struct rec *rec)
{
	state_stacks_add(&s->stacks, (const struct rec_stack *)rec);
}

static void take_fork(struct capture_state *s, const struct rec *rec)
{
	state_tasks_fork(&s->tasks, (const struct rec_fork *)rec);
}

static void take_name(struct capture_state *s, const struct rec *rec)
{
	state_tasks_name(&s->tasks, (const struct rec_name *)rec);
}

static void take_exit(struct capture_state *s, const struct rec *rec)
{
	state_tasks_exit(&s->tasks, (const struct rec_exit *)rec);
}

static void take_counter_info(struct capture_state *s, const struct rec *rec)
{
	APPEND(&s->counter_infos, rec);
}

static void take_setting(struct capture_state *s, const struct rec *r)
{
	const struct rec_setting *rec = (const struct rec_setting *)r;

	if (rec->setting < SETTING_COUNT)
		s->settings[rec->setting] = *rec;
}

static int compare_ids(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static bool is_gone(const struct capture_state *s, const struct rec *rec)
{
	uint32_t id = rec->kind == REC_MODULE ? ((const struct rec_module *)rec)->module_id
					      : NO_REC_MODULE;

	return id != NO_REC_MODULE &&
	       bsearch(&id, s->gone.items, s->gone.count, sizeof(id), compare_ids);
}

/* Drops the modules that have been forgotten. */
static void drop_gone(struct capture_state *s)
{
	size_t kept = 0;

	if (!s->gone.count)
		return;
	vec_sort(&s->gone, compare_ids);
	for (size_t at = 0; at < s->lasting.count;) {
		const struct rec *rec = (const struct rec *)(s->lasting.items + at);
		size_t words = rec->words;

		if (!is_gone(s, rec)) {
			memmove(s->lasting.items + kept, rec, words * sizeof(uint64_t));
			kept += words;
		}
		at += words;
	}
	s->lasting.count = kept;
	vec_clear(&s->gone);
}

static void take_gone(struct capture_state *s, const struct rec *rec)
{
	vec_push(&s->gone, ((const struct rec_gone *)rec)->module_id);
}

static void take_lasting(struct capture_state *s, const struct rec *rec)
{
	APPEND(&s->lasting, rec);
}

static void take_module(struct capture_state *s, const struct rec *rec)
{
	if (rec->flags & MODULE_COMPLETED) {
		vec_push(&s->gone, ((const struct rec_module *)rec)->module_id);
		drop_gone(s);
	}
	take_lasting(s, rec);
}

typedef void take_fn(struct capture_state *s, const struct rec *rec);

/* Each kind's row in record.def says what becomes of it. */
#define PASSING NULL
#define LASTING take_lasting
#define STATE(function) function
static take_fn *const takes[REC_KIND_COUNT] = {
#define RECORD(kind, name, type, size, epoch, ...) [REC_##kind] = epoch,
#include "bpf/record.def"
#undef RECORD
};

void capture_state_take(struct capture_state *s, const struct rec *rec)
{
	if (rec->kind < REC_KIND_COUNT && takes[rec->kind])
		takes[rec->kind](s, rec);
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
	drop_gone(s);
	give_log(s->lasting.items, s->lasting.count, sink, ctx);
	for (size_t i = 0; i < SETTING_COUNT; i++) {
		if (s->settings[i].rec.words)
			sink(ctx, &s->settings[i].rec);
	}
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
