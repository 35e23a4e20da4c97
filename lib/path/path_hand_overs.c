/* SPDX-License-Identifier: MIT */
#include "lib/path/path_hand_overs.h"

#include <inttypes.h>
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/model/facts/marker_schema.h"
#include "lib/model/meaning/recording_markers.h"
#include "lib/model/tables/schemas.h"
#include "lib/path/path_walk.h"
#include "lib/path/path_weights.h"

/* Intervals between samples in which one of the waker is searched. */
#define NEAR_INTERVALS 2
/* Rows that are searched for the beginning of a wait. */
#define ROWS_MAX 16

struct hand_over {
	uint64_t time, waited; /* ns */
	thread_id waker, woken; /* in the timelines */
};

ORDER(compare_longest, struct hand_over, COMPARE(b->waited, a->waited) ?: COMPARE(a->time, b->time))

struct hand_overs {
	VEC(struct hand_over) rows;
};

/* Returns the thread's wait that was ended at that time; NULL: there is none. */
static const struct timeline_wait *wait_until(const struct timeline *line, uint64_t time)
{
	size_t at = timeline_find(line, time);
	const struct timeline_wait *wait = at < line->waits.count ? &line->waits.items[at] : NULL;

	return wait && wait->reason.state != WAIT_RUNNABLE && timeline_wake_time(wait) == time
		       ? wait
		       : NULL;
}

static void collect(struct hand_overs *all, const struct timelines *t, const struct path *path)
{
	for (size_t i = 1; i < path->parts.count; i++) {
		const struct path_part *from = &path->parts.items[i - 1], *to = from + 1;
		const struct timeline_wait *wait = from->thread == to->thread
							   ? NULL
							   : wait_until(&t->rows.items[to->thread],
									to->start);

		if (wait)
			vec_push(&all->rows, (struct hand_over){
						     .time = to->start,
						     .waited = to->start - wait->start,
						     .waker = from->thread,
						     .woken = to->thread,
					     });
	}
}

static bool is_summed(const struct path *path)
{
	vec_for_each(&path->parts, const struct path_part *, part) {
		if (part->time != part->end - part->start)
			return true;
	}
	return false;
}

static thread_id row_of(const struct profile *p, const struct timelines *t, thread_id id)
{
	uint32_t row = t->rows.items[id].row;

	return row < p->threads.rows.count ? row : NO_THREAD;
}

/* Returns the stack of the wait that began then. */
static stack_id wait_stack(const struct profile *p, thread_id row, uint64_t start)
{
	_cleanup_(sample_iterator_release) struct sample_iterator it =
		samples_after(&p->threads.rows.items[row].samples, start ? start - 1 : 0);
	const struct sample *sample;

	for (int i = 0; i < ROWS_MAX && (sample = sample_iterator_next(&it)); i++) {
		if (sample->time == start && sample->stack != NO_STACK &&
		    profile_is_wait(p, sample))
			return sample->stack;
	}
	return NO_STACK;
}

/* Sets the stack of the waker's last sample before the hand-over, if that is near. */
static void set_waker(const struct profile *p, const struct hand_over *row, thread_id waker,
		      struct marker *marker, struct marker_value *stack)
{
	uint64_t near_ns = NEAR_INTERVALS * p->meta.interval_ns;
	_cleanup_(sample_iterator_release) struct sample_iterator it =
		samples_after(&p->threads.rows.items[waker].samples,
			      row->time > near_ns ? row->time - near_ns : 0);
	const struct sample *sample;

	while ((sample = sample_iterator_next(&it)) && sample->time <= row->time) {
		if (!path_is_tick(p, sample))
			continue;
		*stack = (struct marker_value){.type = FIELD_STACK, .stack = sample->stack};
		marker->cause_time = sample->time;
		marker->cause_tid = p->threads.rows.items[waker].tid;
	}
}

/* Returns "make 1234". */
static string_id name_of(struct profile *p, const string_id *steps, thread_id row)
{
	_cleanup_free_ char *text = xasprintf("%s %" PRIu32, strings_get(&p->strings, steps[row]),
					      p->threads.rows.items[row].tid);

	return strings_intern(&p->strings, text);
}

static void add(struct profile *p, const struct timelines *t, const struct hand_over *row,
		schema_id schema, const string_id *steps)
{
	thread_id waker = row_of(p, t, row->waker), woken = row_of(p, t, row->woken);
	struct marker_value *values;
	struct marker marker;
	stack_id stack;

	if (waker == NO_THREAD || woken == NO_THREAD)
		return;
	marker = markers_make(&p->markers, schema, row->time, row->time);
	values = marker_value(&p->markers, &marker, 0);
	values[HAND_OVER_WAKER] = marker_string(name_of(p, steps, waker));
	values[HAND_OVER_WOKEN] = marker_string(name_of(p, steps, woken));
	values[HAND_OVER_WAITED] = (struct marker_value){.type = FIELD_DURATION,
							 .number = row->waited};
	stack = wait_stack(p, woken, row->time - row->waited);
	values[HAND_OVER_WAIT] = (struct marker_value){.type = FIELD_STACK, .stack = stack};
	set_waker(p, row, waker, &marker, &values[HAND_OVER_STACK]);
	/* The stack of the cause follows the fields. */
	values[HAND_OVER_STACK + 1] = values[HAND_OVER_STACK];
	vec_push(&p->threads.rows.items[woken].markers, marker);
}

void path_hand_overs_add(struct profile *p, const struct timelines *t)
{
	struct hand_overs all = {0};
	_cleanup_free_ string_id *steps = NULL;
	struct path path;
	schema_id schema;

	if (schema_text_find(MARKER_CRITICAL_PATH, &p->markers.schemas, &p->strings) == NO_SCHEMA)
		return;
	path_walk(t, p->meta.end_ns, PATH_PARTS_MAX, &path);
	if (!is_summed(&path))
		collect(&all, t, &path);
	vec_release(&path.parts);
	vec_sort(&all.rows, compare_longest);
	schema = schema_text_intern(marker_schema(MARKER_HAND_OVER), &p->markers.schemas,
				    &p->strings);
	steps = path_steps(p);
	for (size_t i = 0; schema != NO_SCHEMA && i < all.rows.count && i < HAND_OVERS_MAX; i++)
		add(p, t, &all.rows.items[i], schema, steps);
	vec_release(&all.rows);
}
