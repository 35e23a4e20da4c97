/* SPDX-License-Identifier: MIT */
#include "lib/session/reclaim.h"

#include "lib/base/alloc.h"

/* Smaller tables are not looked through. */
#define VALUES_MIN ((size_t)1 << 16)
#define STACKS_MIN ((size_t)1 << 17)
/* Markers that were left out whose values may stay. */
#define DROPPED_MAX (MARKERS_MAX / 4)
/* Rows are counted after this many records. */
#define RECORDS (1u << 18)
/* Part of the limit of stacks that rows are which are not thinned for it. */
#define FEW_ROWS 16
/* Rows are limited once there are this many times as many as the limit. */
#define EXCESS 2

/* Copies values that markers have, and notes their new numbers, plus one. */
struct value_copy {
	struct markers *markers;
	struct markers into; /* values alone */
	uint32_t *map;
};

static void copy_values(struct value_copy *c, struct marker *marker)
{
	uint32_t count = schemas_get(&c->markers->schemas, marker->schema)->field_count + 1u;
	uint32_t first = (uint32_t)c->into.values.count;
	struct marker_value *values = vec_add_zeroed(&c->into.values, count);

	for (uint32_t i = 0; i < count; i++) {
		values[i] = *marker_value(c->markers, marker, i);
		c->map[marker->first_value + i] = first + i + 1;
	}
	marker->first_value = first;
}

static void reclaim_values(struct reclaim *w)
{
	struct markers *markers = &w->profile->markers;
	size_t count = markers->values.count;
	struct value_copy copy = {
		.markers = markers,
		.map = xreallocarray(NULL, count + 1, sizeof(*copy.map)),
	};

	memset(copy.map, 0xff, count * sizeof(*copy.map)); /* NO_VALUE */
	vec_for_each(&w->profile->threads.rows, struct profile_thread *, row) {
		vec_for_each(&row->markers, struct marker *, marker)
			copy_values(&copy, marker);
	}
	vec_for_each(&w->markers->machine, struct marker *, marker)
		copy_values(&copy, marker);
	pending_move_values(&w->samples->pending, copy.map);
	vec_release(&markers->values);
	markers->values.items = copy.into.values.items;
	markers->values.count = copy.into.values.count;
	markers->values.capacity = copy.into.values.capacity;
	free(copy.map);
	w->markers->bounds.dropped = 0;
	w->values_next = 2 * markers->values.count;
	if (w->values_next < VALUES_MIN)
		w->values_next = VALUES_MIN;
}

static size_t count_used(const bool *used, size_t count)
{
	size_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += used[i];
	return sum;
}

static void mark_machine(const struct reclaim *w, bool *used)
{
	vec_for_each(&w->markers->machine, const struct marker *, marker)
		profile_mark_marker(w->profile, marker, used);
}

/* Drops stacks that nothing has; unless `all` must go, they stay if they are few. */
static void reclaim_stacks(struct reclaim *w, bool all)
{
	struct profile *p = w->profile;
	size_t count = p->stacks.rows.count, limit = EXCESS * w->bounds.limits.stacks;
	bool *used = xcalloc(count + 1, sizeof(*used));
	stack_id *map = NULL;

	profile_mark_stacks(p, used);
	sample_feed_mark_stacks(w->samples, used);
	mark_machine(w, used);
	if (all || count_used(used, count) < count - count / 4) {
		map = profile_keep_stacks(p, used);
		sample_feed_move_stacks(w->samples, map);
	}
	free(map);
	free(used);
	w->stacks_next = 2 * p->stacks.rows.count;
	if (!w->is_off && w->stacks_next > limit)
		w->stacks_next = limit;
	/* Looks again only after some growth: what cannot go stays. */
	if (w->stacks_next < p->stacks.rows.count + p->stacks.rows.count / 4)
		w->stacks_next = p->stacks.rows.count + p->stacks.rows.count / 4;
	if (w->stacks_next < STACKS_MIN)
		w->stacks_next = STACKS_MIN;
}

static void drop_unused(void *ctx)
{
	struct reclaim *w = ctx;

	reclaim_values(w);
	reclaim_stacks(w, true);
}

static void limit_rows(struct reclaim *w)
{
	waits_place(&w->samples->waits);
	w->bounds.drop_unused = drop_unused;
	w->bounds.ctx = w;
	w->bounds.has_readings = true;
	row_bounds_limit(&w->bounds, 1);
}

static uint64_t count_rows(const struct reclaim *w)
{
	uint64_t sum = waits_row_count(&w->samples->waits);

	vec_for_each(&w->profile->threads.rows, const struct profile_thread *, row)
		sum += samples_count(&row->samples);
	return sum;
}

void reclaim_init(struct reclaim *w, struct sample_feed *samples, struct marker_feed *markers,
		  struct row_limits limits)
{
	*w = (struct reclaim){
		.profile = samples->profile,
		.samples = samples,
		.markers = markers,
		.values_next = VALUES_MIN,
		.stacks_next = STACKS_MIN,
	};
	row_bounds_init(&w->bounds, w->profile, limits);
}

static void step_stacks(struct reclaim *w)
{
	uint64_t limit = w->bounds.limits.stacks;

	reclaim_stacks(w, false);
	/* Markers have stacks, too: few rows are not the cause. */
	if (!w->is_off && w->profile->stacks.rows.count > limit && count_rows(w) > limit / FEW_ROWS)
		limit_rows(w);
}

void reclaim_step(struct reclaim *w)
{
	if (w->profile->markers.values.count >= w->values_next ||
	    w->markers->bounds.dropped >= DROPPED_MAX) {
		marker_bounds_limit(&w->markers->bounds, w->profile);
		reclaim_values(w);
	}
	if (w->keeps_stacks)
		return;
	if (w->profile->stacks.rows.count >= w->stacks_next)
		step_stacks(w);
	if (++w->records < RECORDS)
		return;
	w->records = 0;
	if (!w->is_off && count_rows(w) > EXCESS * w->bounds.limits.rows)
		limit_rows(w);
}

void reclaim_finish(struct reclaim *w)
{
	struct row_bounds *b = &w->bounds;

	b->has_readings = false;
	b->drop_unused = NULL;
	if (!w->is_off)
		row_bounds_finish(b);
}
