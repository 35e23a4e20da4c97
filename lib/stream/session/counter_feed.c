/* SPDX-License-Identifier: MIT */
#include "lib/stream/session/counter_feed.h"

#include "lib/base/alloc.h"
#include "lib/stream/session/markers/fair_share.h"

void counter_feed_init(struct counter_feed *f, struct profile *profile, struct tasks *tasks)
{
	*f = (struct counter_feed){
		.profile = profile,
		.tasks = tasks,
		.max = COUNTER_VALUES_MAX,
	};
}

void counter_feed_release(struct counter_feed *f)
{
	vec_release(&f->rows);
	index_release(&f->by_wire_id);
}

static bool wire_id_equal(const void *table, uint32_t id, const void *key)
{
	const struct counter_feed *f = table;

	return f->rows.items[id].wire_id == *(const uint32_t *)key;
}

static uint32_t find(const struct counter_feed *f, uint32_t wire_id)
{
	return index_find(&f->by_wire_id, hash_u64(wire_id), wire_id_equal, f, &wire_id);
}

/* Consumes the next text; NO_STRING if it is empty. */
static string_id take_text(struct strings *strings, const char **text, size_t size)
{
	const char *start = *text;

	*text += size;
	return size ? strings_intern_sized(strings, start, size) : NO_STRING;
}

void counter_feed_info(struct counter_feed *f, const struct rec_counter_info *rec)
{
	struct strings *strings = &f->profile->strings;
	struct wire_counter row = {.wire_id = rec->counter};
	struct counter counter = {.graph = rec->graph};
	const char *text = rec->text;

	if (!rec->name_size || find(f, rec->counter) != INDEX_NONE)
		return;
	if (rec->rec.pid) {
		process_id id = tasks_process(f->tasks, &rec->rec);
		const struct process *process = &f->tasks->processes.rows.items[id];

		counter.pid = process->pid;
		counter.incarnation = process->incarnation;
	}
	counter.name = take_text(strings, &text, rec->name_size);
	counter.category = take_text(strings, &text, rec->category_size);
	counter.description = take_text(strings, &text, rec->description_size);
	counter.label = take_text(strings, &text, rec->label_size);
	counter.unit = take_text(strings, &text, rec->unit_size);
	counter.color = take_text(strings, &text, rec->color_size);
	row.id = profile_counters_add(&f->profile->counters, &counter);
	if (row.id == NO_COUNTER)
		return;
	index_add(&f->by_wire_id, hash_u64(row.wire_id), (uint32_t)f->rows.count);
	vec_push(&f->rows, row);
}

/* Leaves half of the most values, where there are most. */
static void limit_values(struct counter_feed *f)
{
	struct profile_counters *counters = &f->profile->counters;
	uint64_t *counts = xreallocarray(NULL, counters->rows.count + 1, sizeof(*counts)), share;

	for (size_t i = 0; i < counters->rows.count; i++)
		counts[i] = counters->rows.items[i].samples.count;
	share = fair_share(counts, counters->rows.count, f->max / 2);
	free(counts);
	f->values = 0;
	vec_for_each(&counters->rows, struct counter *, counter) {
		while (counter->samples.count > share && counter->samples.count > 2)
			f->profile->stats.merged_counter_values += counter_halve(counter);
		f->values += counter->samples.count;
	}
	/* There are too many counters for fewer. */
	if (f->values > f->max / 2)
		f->max = 2 * f->values;
}

void counter_feed_count(struct counter_feed *f, const struct rec_counter *rec)
{
	uint32_t row = find(f, rec->counter);
	int64_t delta = rec->delta;
	uint64_t *total;

	if (row == INDEX_NONE) {
		f->profile->stats.lost_counter_values++;
		return;
	}
	total = &f->rows.items[row].total;
	if (rec->rec.flags & COUNTER_TOTAL)
		delta = (int64_t)((uint64_t)rec->delta - *total);
	*total += (uint64_t)delta;
	if (rec->rec.flags & COUNTER_TOTAL && !delta)
		return;
	counter_add_sample(&f->profile->counters.rows.items[f->rows.items[row].id],
			   tasks_time(f->tasks, rec->rec.time), delta);
	if (++f->values > f->max)
		limit_values(f);
}
