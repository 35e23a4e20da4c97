/* SPDX-License-Identifier: MIT */
#include "lib/profile/threads.h"

#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"

void threads_release(struct threads *t)
{
	vec_for_each(&t->rows, struct profile_thread *, row) {
		vec_release(&row->samples);
		vec_release(&row->markers);
	}
	vec_release(&t->rows);
}

thread_id threads_add(struct threads *t, const struct profile_thread *thread)
{
	vec_push(&t->rows, *thread);
	return (thread_id)(t->rows.count - 1);
}

struct profile_thread *threads_get(struct threads *t, thread_id id)
{
	return &t->rows.items[id];
}

size_t profile_thread_sample_after(const struct profile_thread *row, uint64_t time)
{
	return vec_count_front(&row->samples, it, it->time <= time);
}

void profile_thread_add_sample(struct profile_thread *row, const struct sample *sample)
{
	size_t count = row->samples.count, at = count;

	if (count && row->samples.items[count - 1].time > sample->time)
		at = profile_thread_sample_after(row, sample->time);
	vec_push(&row->samples, *sample);
	row->cpu_ns += sample->cpu_delta;
	if (at == count)
		return;
	memmove(row->samples.items + at + 1, row->samples.items + at,
		(count - at) * sizeof(*row->samples.items));
	row->samples.items[at] = *sample;
}

static int compare_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

/* The thread that a row belongs to: itself, but for other events' rows. */
static thread_id owner_of(const struct threads *t, thread_id id)
{
	return t->rows.items[id].event ? t->rows.items[id].owner : id;
}

struct ordering {
	const struct threads *threads;
	uint32_t root;
};

static bool is_root(const struct ordering *o, const struct profile_thread *row)
{
	return o->root && row->pid == o->root && !row->incarnation;
}

static int compare_owners(const struct ordering *o, thread_id a, thread_id b)
{
	const struct threads *t = o->threads;
	const struct profile_thread *left = &t->rows.items[a], *right = &t->rows.items[b];
	int result = is_root(o, right) - is_root(o, left);

	if (!result)
		result = compare_u64(left->process_start, right->process_start);
	if (!result)
		result = compare_u64(right->process_cpu_ns, left->process_cpu_ns);
	if (!result)
		result = compare_u64(left->pid, right->pid);
	if (!result)
		result = compare_u64(left->incarnation, right->incarnation);
	if (!result)
		result = right->is_main - left->is_main;
	if (!result)
		result = compare_u64(left->start, right->start);
	if (!result)
		result = compare_u64(right->cpu_ns, left->cpu_ns);
	if (!result)
		result = compare_u64(left->tid, right->tid);
	return result ? result : compare_u64(a, b);
}

static int compare_cpus(const struct profile_thread *a, const struct profile_thread *b)
{
	if (a->is_cpu != b->is_cpu)
		return a->is_cpu - b->is_cpu;
	return a->is_cpu ? compare_u64(a->tid, b->tid) : 0;
}

/* By id in the end, so that the order never depends on the sort. */
static int compare_order(const void *a, const void *b, void *ctx)
{
	const struct ordering *o = ctx;
	const struct threads *t = o->threads;
	thread_id a_id = *(const thread_id *)a, b_id = *(const thread_id *)b;
	int result = compare_cpus(&t->rows.items[a_id], &t->rows.items[b_id]);

	if (!result)
		result = compare_owners(o, owner_of(t, a_id), owner_of(t, b_id));
	if (!result)
		result = compare_u64(t->rows.items[a_id].event, t->rows.items[b_id].event);
	return result ? result : compare_u64(a_id, b_id);
}

void threads_order(const struct threads *t, uint32_t root, thread_id *order)
{
	struct ordering ordering = {t, root};

	for (size_t i = 0; i < t->rows.count; i++)
		order[i] = (thread_id)i;
	if (t->rows.count < 2)
		return;
	qsort_r(order, t->rows.count, sizeof(*order), compare_order, &ordering);
}

struct busy {
	uint64_t cpu_ns;
	uint32_t position;
};

static int compare_busy(const void *a, const void *b)
{
	const struct busy *left = a, *right = b;
	int result = compare_u64(right->cpu_ns, left->cpu_ns);

	return result ? result : compare_u64(left->position, right->position);
}

size_t threads_busiest(const struct threads *t, const thread_id *order, uint32_t *positions,
		       size_t max)
{
	_cleanup_free_ struct busy *busy = xcalloc(t->rows.count + 1, sizeof(*busy));
	size_t count = 0;

	for (size_t i = 0; i < t->rows.count; i++) {
		const struct profile_thread *row = &t->rows.items[order[i]];

		if (row->samples.count && !row->event && !row->is_cpu)
			busy[count++] = (struct busy){row->cpu_ns, (uint32_t)i};
	}
	qsort(busy, count, sizeof(*busy), compare_busy);
	if (count > max)
		count = max;
	for (size_t i = 0; i < count; i++)
		positions[i] = busy[i].position;
	return count;
}
