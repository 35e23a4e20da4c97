/* SPDX-License-Identifier: MIT */
#include "lib/model/meaning/long_tasks.h"

#include "lib/model/tables/markers.h"

/* Returns NO_SCHEMA if there is none. */
static schema_id find_schema(const struct profile *p)
{
	return schema_text_find(MARKER_LONG_TASK, &p->markers.schemas, &p->strings);
}

bool long_tasks_are_in(const struct profile *p)
{
	return find_schema(p) != NO_SCHEMA;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static bool is_usable(const struct sample *sample, const struct marker *marker)
{
	return sample->stack != NO_STACK && sample->time >= marker->start &&
	       sample->time <= marker->end;
}

/* Stores the sample nearest to the middle of the marker; false if the thread has none within it. */
static bool find_sample(const struct profile *p, const struct profile_thread *row,
			const struct marker *marker, struct sample *found)
{
	uint64_t middle = marker->start + (marker->end - marker->start) / 2;
	_cleanup_(sample_iterator_release) struct sample_iterator back =
		samples_after(&row->samples, middle);
	_cleanup_(sample_iterator_release) struct sample_iterator on = samples_after(&row->samples,
										     middle);
	const struct sample *left, *right;

	while ((left = sample_iterator_before(&back)) && left->time >= marker->start &&
	       !is_usable(left, marker))
		;
	while ((right = sample_iterator_next(&on)) && right->time <= marker->end &&
	       !is_usable(right, marker))
		;
	left = left && is_usable(left, marker) ? left : NULL;
	right = right && is_usable(right, marker) ? right : NULL;
	/* A wait lasts until the next sample. */
	if (!left || (right && !profile_is_wait(p, left) &&
		      distance(left->time, middle) > distance(right->time, middle)))
		left = right;
	if (left)
		*found = *left;
	return left;
}

void long_tasks_set_causes(struct profile *p)
{
	schema_id schema = find_schema(p);
	uint32_t cause;

	if (schema == NO_SCHEMA)
		return;
	cause = schemas_get(&p->markers.schemas, schema)->field_count;
	vec_for_each(&p->threads.rows, struct profile_thread *, row) {
		vec_for_each(&row->markers, struct marker *, marker) {
			struct sample sample;

			if (marker->schema != schema || !find_sample(p, row, marker, &sample))
				continue;
			*marker_value(&p->markers, marker, cause) = marker_stack(sample.stack);
			marker->cause_time = sample.time;
		}
	}
}

ORDER(compare, struct long_task, COMPARE(a->start, b->start))

/* Merge overlapping tasks, which files may contain. */
static void join(struct long_tasks *t)
{
	size_t kept = 0;

	vec_sort(&t->rows, compare);
	for (size_t i = 0; i < t->rows.count; i++) {
		const struct long_task *row = &t->rows.items[i];
		struct long_task *last = kept ? &t->rows.items[kept - 1] : NULL;

		if (!last || row->start >= last->end)
			t->rows.items[kept++] = *row;
		else if (row->end > last->end)
			last->end = row->end;
	}
	t->rows.count = kept;
}

void long_tasks_find(struct long_tasks *t, const struct profile *p,
		     const struct profile_thread *thread)
{
	schema_id schema = find_schema(p);

	vec_clear(&t->rows);
	if (schema == NO_SCHEMA)
		return;
	vec_for_each(&thread->markers, const struct marker *, marker) {
		if (marker->schema == schema && marker->end > marker->start)
			vec_push(&t->rows, (struct long_task){marker->start, marker->end});
	}
	join(t);
}

uint64_t long_tasks_delay(const struct long_tasks *t, uint64_t time, size_t *at)
{
	while (*at < t->rows.count && t->rows.items[*at].end < time)
		++*at;
	if (*at == t->rows.count || t->rows.items[*at].start > time)
		return 0;
	return time - t->rows.items[*at].start;
}
