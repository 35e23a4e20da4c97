/* SPDX-License-Identifier: MIT */
#include "lib/model/meaning/thread_rows.h"

struct process_row {
	uint32_t pid, incarnation;
	size_t row;
	uint64_t end; /* end of the process; 0: still running */
};

struct processes {
	VEC(struct process_row) list;
};

/* A counter of a process that shares its row with others. */
struct part {
	size_t row;
	string_id name;
	size_t number; /* number of the counter */
	uint64_t end;
};

struct parts {
	VEC(struct part) list;
};

ORDER(compare_processes, struct process_row,
      COMPARE(a->pid, b->pid) ?: COMPARE(a->incarnation, b->incarnation))

static void list_processes(const struct thread_rows *rows, struct processes *processes)
{
	for (size_t i = 0; i < rows->list.count; i++) {
		const struct thread_row *row = &rows->list.items[i];

		for (size_t k = 0; row->kind <= ROW_MERGED && k < row->count; k++) {
			const struct profile_thread *thread =
				&rows->profile->threads.rows
					 .items[rows->members.items[row->first + k]];
			struct process_row process = {thread->pid, thread->incarnation, i,
						      thread->process_end};

			if (thread->is_main)
				vec_push(&processes->list, process);
		}
	}
	vec_sort(&processes->list, compare_processes);
}

/* Returns NULL for a process without a row. */
static const struct process_row *find_process(const struct processes *processes,
					      const struct counter *counter)
{
	struct process_row key = {.pid = counter->pid, .incarnation = counter->incarnation};
	size_t at = vec_count_front(&processes->list, it, compare_processes(it, &key) < 0);

	if (at == processes->list.count || compare_processes(&processes->list.items[at], &key) != 0)
		return NULL;
	return &processes->list.items[at];
}

ORDER(compare_parts, struct part,
      COMPARE(a->row, b->row) ?: COMPARE(a->name, b->name) ?: COMPARE(a->number, b->number))

/* Orders by time; at the same time, samples without a change come first. */
ORDER(compare_samples, struct counter_sample,
      COMPARE(a->time, b->time) ?: COMPARE(a->delta != 0, b->delta != 0))

/* Adds a step, preceded by the old level: front-ends interpolate between values. */
static void add_step(struct counter *sum, uint64_t time, int64_t delta)
{
	vec_push(&sum->samples, (struct counter_sample){time, 0});
	vec_push(&sum->samples, (struct counter_sample){time, delta});
}

/* Adds a counter's values. Levels of a process begin and end with it. */
static void add_part(struct counter *sum, const struct counter *counter, uint64_t end)
{
	int64_t level = 0;

	vec_for_each(&counter->samples, const struct counter_sample *, sample) {
		if (sum->graph == COUNTER_LEVEL && sample == counter->samples.items)
			add_step(sum, sample->time, sample->delta);
		else
			vec_push(&sum->samples, *sample);
		level = counter_add(level, sample->delta);
	}
	if (sum->graph != COUNTER_LEVEL || !end || !level)
		return;
	if (end < vec_last(&counter->samples).time)
		end = vec_last(&counter->samples).time;
	add_step(sum, end, counter_add(~level, 1));
}

/* Sorts by time and merges changes at the same time. A step keeps the value before it. */
static void join_samples(struct counter *sum)
{
	size_t kept = 0;

	vec_sort(&sum->samples, compare_samples);
	vec_for_each(&sum->samples, const struct counter_sample *, sample) {
		struct counter_sample *last = kept ? &sum->samples.items[kept - 1] : NULL;

		if (last && last->time == sample->time &&
		    (sum->graph == COUNTER_RATE || last->delta || !sample->delta))
			last->delta = counter_add(last->delta, sample->delta);
		else
			sum->samples.items[kept++] = *sample;
	}
	sum->samples.count = kept;
}

/* Returns the latest end of the row's processes, with or without counters. */
static uint64_t end_of_row(const struct thread_rows *rows, size_t row)
{
	uint64_t end = rows->list.items[row].end;

	return end ? end : rows->profile->meta.end_ns;
}

/* True if a level is always 0 or 1, like the number of threads of most programs. */
static bool is_dull(const struct counter *counter)
{
	const struct counter_sample *first = counter->samples.items;

	if (counter->graph != COUNTER_LEVEL || first->delta < 0 || first->delta > 1)
		return false;
	return !vec_find(&counter->samples, sample, sample != first && sample->delta);
}

static void add_sums(struct row_counters *c, const struct thread_rows *rows, struct parts *parts)
{
	const struct profile *p = rows->profile;
	struct row_counter row;

	vec_sort(&parts->list, compare_parts);
	for (size_t i = 0, k; i < parts->list.count; i = k) {
		const struct part *first = &parts->list.items[i];

		row = (struct row_counter){
			.row = first->row,
			.counter = p->counters.rows.items[first->number],
			.end = end_of_row(rows, first->row),
			.number = first->number,
			.is_sum = true,
		};
		memset(&row.counter.samples, 0, sizeof(row.counter.samples));
		for (k = i; k < parts->list.count; k++) {
			const struct part *part = &parts->list.items[k];

			if (part->row != first->row || part->name != first->name)
				break;
			add_part(&row.counter, &p->counters.rows.items[part->number], part->end);
		}
		join_samples(&row.counter);
		vec_push(&c->list, row);
	}
}

ORDER(compare_rows, struct row_counter,
      COMPARE(a->is_machine, b->is_machine) ?: COMPARE(a->number, b->number))

void row_counters_find(struct row_counters *c, const struct thread_rows *rows)
{
	const struct profile *p = rows->profile;
	struct process_row machine = {.end = p->meta.end_ns};
	struct processes processes = {0};
	struct parts parts = {0};

	if (!rows->list.count)
		return;
	list_processes(rows, &processes);
	for (size_t i = 0; i < p->counters.rows.count; i++) {
		const struct counter *counter = &p->counters.rows.items[i];
		const struct process_row *process = counter->pid ? find_process(&processes, counter)
								 : &machine;

		if (!process || !counter->samples.count)
			continue;
		if (counter->pid && rows->list.items[process->row].kind == ROW_MERGED) {
			vec_push(&parts.list,
				 (struct part){process->row, counter->name, i, process->end});
			continue;
		}
		if (counter->pid && is_dull(counter))
			continue;
		vec_push(&c->list, (struct row_counter){
					   .row = process->row,
					   .counter = *counter,
					   .end = process->end ? process->end : p->meta.end_ns,
					   .number = i,
					   .is_machine = !counter->pid,
				   });
	}
	add_sums(c, rows, &parts);
	vec_sort(&c->list, compare_rows);
	vec_release(&parts.list);
	vec_release(&processes.list);
}

void row_counters_release(struct row_counters *c)
{
	vec_for_each(&c->list, struct row_counter *, row) {
		if (row->is_sum)
			vec_release(&row->counter.samples);
	}
	vec_release(&c->list);
}
