/* SPDX-License-Identifier: MIT */
#include "lib/stream/session/reclaim.h"

#include <malloc.h>

#include "lib/base/alloc.h"
#include "lib/base/thread.h"

/* Smaller tables are not looked through. */
#define VALUES_MIN ((size_t)1 << 16)
#define STACKS_MIN ((size_t)1 << 17)
/* Markers that were left out whose values may stay. */
#define DROPPED_MAX (MARKERS_MAX / 4)
/* Rows are counted after this many records. */
#define RECORDS (1u << 18)
/* Rows are few, and not thinned for the sake of stacks, below this part of the stacks' limit. */
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

static void reclaim_values(struct reclaim *r)
{
	struct markers *markers = &r->profile->markers;
	size_t count = markers->values.count;
	struct value_copy copy = {
		.markers = markers,
		.map = xreallocarray(NULL, count + 1, sizeof(*copy.map)),
	};

	memset(copy.map, 0xff, count * sizeof(*copy.map)); /* NO_VALUE */
	vec_for_each(&r->profile->threads.rows, struct profile_thread *, row) {
		vec_for_each(&row->markers, struct marker *, marker)
			copy_values(&copy, marker);
	}
	vec_for_each(&r->markers->machine, struct marker *, marker)
		copy_values(&copy, marker);
	pending_move_values(&r->samples->pending, copy.map);
	vec_release(&markers->values);
	markers->values = copy.into.values;
	free(copy.map);
	r->markers->bounds.dropped = 0;
	r->values_next = 2 * markers->values.count;
	if (r->values_next < VALUES_MIN)
		r->values_next = VALUES_MIN;
}

static size_t count_used(const bool *used, size_t count)
{
	size_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += used[i];
	return sum;
}

static void mark_machine(const struct reclaim *r, bool *used)
{
	vec_for_each(&r->markers->machine, const struct marker *, marker)
		profile_mark_marker(r->profile, marker, used);
}

/* Drops stacks that nothing has; unless `all` must go, they stay if they are few. */
static void reclaim_stacks(struct reclaim *r, bool all)
{
	struct profile *p = r->profile;
	size_t count = p->stacks.rows.count, limit = EXCESS * r->bounds.limits.stacks;
	bool *used = xcalloc(count + 1, sizeof(*used));
	stack_id *map = NULL;

	profile_mark_stacks(p, used);
	sample_feed_mark_stacks(r->samples, used);
	mark_machine(r, used);
	if (all || count_used(used, count) < count - count / 4) {
		map = profile_keep_stacks(p, used);
		sample_feed_move_stacks(r->samples, map);
	}
	free(map);
	free(used);
	r->stacks_next = 2 * p->stacks.rows.count;
	if (!r->is_off && r->stacks_next > limit)
		r->stacks_next = limit;
	/* Looks again only after some growth: what cannot go stays. */
	if (r->stacks_next < p->stacks.rows.count + p->stacks.rows.count / 4)
		r->stacks_next = p->stacks.rows.count + p->stacks.rows.count / 4;
	if (r->stacks_next < STACKS_MIN)
		r->stacks_next = STACKS_MIN;
}

static void drop_unused(void *ctx)
{
	struct reclaim *r = ctx;

	reclaim_values(r);
	reclaim_stacks(r, true);
}

static void limit_rows(struct reclaim *r)
{
	waits_place(&r->samples->waits);
	r->bounds.drop_unused = drop_unused;
	r->bounds.ctx = r;
	r->bounds.has_readings = true;
	row_bounds_limit(&r->bounds, 1);
}

static uint64_t count_rows(const struct reclaim *r)
{
	uint64_t sum = waits_row_count(&r->samples->waits);

	vec_for_each(&r->profile->threads.rows, const struct profile_thread *, row)
		sum += samples_count(&row->samples);
	return sum;
}

void reclaim_init(struct reclaim *r, struct sample_feed *samples, struct marker_feed *markers,
		  struct row_limits limits)
{
	*r = (struct reclaim){
		.profile = samples->profile,
		.samples = samples,
		.markers = markers,
		.values_next = VALUES_MIN,
		.stacks_next = STACKS_MIN,
	};
	row_bounds_init(&r->bounds, r->profile, limits);
}

static void step_stacks(struct reclaim *r)
{
	uint64_t limit = r->bounds.limits.stacks;

	reclaim_stacks(r, false);
	/* Markers have stacks, too: few rows are not the cause. */
	if (!r->is_off && r->profile->stacks.rows.count > limit && count_rows(r) > limit / FEW_ROWS)
		limit_rows(r);
}

static bool values_are_due(const struct reclaim *r)
{
	return r->profile->markers.values.count >= r->values_next ||
	       r->markers->bounds.dropped >= DROPPED_MAX;
}

static bool stacks_are_due(const struct reclaim *r)
{
	return !r->keeps_stacks && r->profile->stacks.rows.count >= r->stacks_next;
}

static bool rows_are_due(struct reclaim *r)
{
	if (r->keeps_stacks || r->is_off || ++r->records < RECORDS)
		return false;
	r->records = 0;
	return count_rows(r) > EXCESS * r->bounds.limits.rows;
}

/* Tables to look through. */
struct pass {
	struct reclaim *reclaim;
	bool values, stacks, rows;
};

static void run_pass(void *ctx)
{
	const struct pass *pass = ctx;
	struct reclaim *r = pass->reclaim;

	if (pass->values) {
		marker_bounds_limit(&r->markers->bounds, r->profile);
		reclaim_values(r);
	}
	if (pass->stacks)
		step_stacks(r);
	if (pass->rows)
		limit_rows(r);
	/* Gives back the memory that was freed between what stays. */
	malloc_trim(0);
}

void reclaim_step(struct reclaim *r)
{
	struct pass pass = {
		.reclaim = r,
		.values = values_are_due(r),
		.stacks = stacks_are_due(r),
		.rows = rows_are_due(r),
	};

	if (!pass.values && !pass.stacks && !pass.rows)
		return;
	if (r->meanwhile)
		thread_run_beside("prof-reclaim", run_pass, &pass, r->meanwhile, r->ctx);
	else
		run_pass(&pass);
}

void reclaim_finish(struct reclaim *r)
{
	struct row_bounds *b = &r->bounds;

	b->has_readings = false;
	b->drop_unused = NULL;
	if (!r->is_off)
		row_bounds_finish(b);
}
