/* SPDX-License-Identifier: MIT */
#include "lib/stream/session/row_bounds.h"

#include <malloc.h>
#include <math.h>

#include "lib/base/workers.h"
#include "lib/stream/session/waits/waits.h"

/*
 * Merges rows of a thread's samples at little loss. The total weight of each stack and the CPU time
 * stay exactly the same. has_readings: cpu_delta of the rows is still a reading, as in thread.h.
 */

/* Maximum number of ticks in a window. */
#define WINDOW_ROWS 512u

struct merging {
	const struct profile *profile;
	struct samples out;
	bool has_readings;
	uint64_t gone;
	uint64_t used_ns; /* CPU time of dropped rows, added to the next row */
	VEC(struct sample) rows; /* rows of the current wait or window */
};

static uint32_t saturated(uint64_t value)
{
	return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

/* Rows of other events have no CPU time. */
static void row_merging_keep(struct merging *m, struct sample row)
{
	if (!row.event && !m->has_readings) {
		row.cpu_delta = saturated(row.cpu_delta + m->used_ns);
		m->used_ns = 0;
	}
	samples_add(&m->out, &row);
}

static void row_merging_leave_out(struct merging *m, const struct sample *row)
{
	m->used_ns += row->cpu_delta;
	m->gone++;
}

/* Replaces the rows by the remaining ones. */
static uint64_t finish(struct merging *m, struct samples *samples)
{
	vec_release(&m->rows);
	samples_release(samples);
	*samples = m->out;
	return m->gone;
}

/* Writes the first row of the waits, and the last row with the weight of all others. */
static void end_waits(struct merging *m)
{
	size_t count = m->rows.count;
	uint64_t weight = 0;

	for (size_t i = 0; i < count; i++) {
		struct sample row = m->rows.items[i];

		if (i)
			weight += row.weight;
		if (i && i + 1 < count) {
			row_merging_leave_out(m, &row);
			continue;
		}
		if (i)
			row.weight = saturated(weight);
		row_merging_keep(m, row);
	}
	vec_clear(&m->rows);
}

/*
 * Merges waits that directly follow each other into one with a row at its start and one at its end.
 * Returns the number of rows dropped.
 */
static uint64_t row_merging_waits(const struct profile *p, struct samples *samples,
				  bool has_readings)
{
	struct merging m = {.profile = p, .has_readings = has_readings};

	samples_for_each(samples, row) {
		bool is_wait = row->weight && profile_is_wait(p, row);

		if (m.rows.count && (!is_wait || vec_last(&m.rows).stack != row->stack))
			end_waits(&m);
		if (is_wait)
			vec_push(&m.rows, *row);
		else
			row_merging_keep(&m, *row);
	}
	end_waits(&m);
	return finish(&m, samples);
}

/*
 * Adds the tick's weight to the last tick of the window with the same stack and CPU. False if there
 * is none.
 */
static bool hand_on(struct merging *m, size_t tick)
{
	const struct sample *row = &m->rows.items[tick];

	if (row->event || !row->weight)
		return false;
	for (size_t i = m->rows.count; i-- > tick + 1;) {
		struct sample *later = &m->rows.items[i];

		if (later->stack != row->stack || later->event || !later->weight ||
		    later->cpu != row->cpu)
			continue;
		later->weight = saturated((uint64_t)later->weight + row->weight);
		return true;
	}
	return false;
}

static void end_window(struct merging *m)
{
	for (size_t i = 0; i < m->rows.count; i++) {
		if (hand_on(m, i))
			row_merging_leave_out(m, &m->rows.items[i]);
		else
			row_merging_keep(m, m->rows.items[i]);
	}
	vec_clear(&m->rows);
}

/*
 * Merges ticks with the same stack within `window` ns into the last one. Waits end a window.
 * Returns the number of rows dropped.
 */
static uint64_t row_merging_ticks(const struct profile *p, struct samples *samples, uint64_t window,
				  bool has_readings)
{
	struct merging m = {.profile = p, .has_readings = has_readings};

	samples_for_each(samples, row) {
		bool is_wait = profile_is_wait(p, row);

		if (m.rows.count && (is_wait || m.rows.count == WINDOW_ROWS ||
				     row->time - m.rows.items[0].time >= window))
			end_window(&m);
		if (is_wait)
			row_merging_keep(&m, *row);
		else
			vec_push(&m.rows, *row);
	}
	end_window(&m);
	return finish(&m, samples);
}

#define SEED 0x726f7773u
/*
 * Bytes in a file of a row, of the two rows that mark a gap, and of a stack with inlined functions.
 */
#define ROW_BYTES 33
#define GAP_BYTES 34
#define STACK_BYTES 13
/* Dropping rows also drops stacks, but their number is unknown in advance. */
#define ROUNDS_MAX 8
#define WINDOW_NS 100000000u

/* True if the file marks the time before the row as off the CPU. */
static bool has_gap(const struct profile *p, const struct sample *row, uint64_t before)
{
	uint64_t passed = row->time > before ? row->time - before : 0;
	uint64_t interval = p->meta.interval_ns;

	return interval && passed / 2 > interval && passed - interval > row->cpu_delta;
}

static void count_rows(struct row_bounds *b)
{
	for (size_t i = 0; i < EVENT_COUNTS_MAX; i++)
		b->kinds[i].rows = 0;
	b->gaps = 0;
	vec_for_each(&b->profile->threads.rows, const struct profile_thread *, row) {
		uint64_t before = UINT64_MAX;

		samples_for_each(&row->samples, sample) {
			b->kinds[sample->event].rows += sample->weight != 0;
			b->gaps += !b->has_readings && has_gap(b->profile, sample, before);
			before = profile_is_wait(b->profile, sample) ? UINT64_MAX : sample->time;
		}
	}
}

/*
 * Rows that are dropped or kept together: a single row, or a wait's two rows, the second at its
 * end.
 */
struct unit {
	struct sample rows[2];
	bool is_pair;
};

struct unit_reader {
	const struct profile *profile;
	struct sample_iterator samples;
	struct sample next;
	bool has_next;
};

static void read_ahead(struct unit_reader *r)
{
	const struct sample *sample = sample_iterator_next(&r->samples);

	r->has_next = sample;
	if (sample)
		r->next = *sample;
}

static struct unit_reader unit_reader_begin(const struct profile *p, const struct samples *samples)
{
	struct unit_reader r = {.profile = p, .samples = samples_begin(samples)};

	read_ahead(&r);
	return r;
}

/* Returns false at the end, which releases the reader. */
static bool next_unit(struct unit_reader *r, struct unit *unit)
{
	const struct sample *first = &unit->rows[0];

	if (!r->has_next) {
		sample_iterator_release(&r->samples);
		return false;
	}
	unit->rows[0] = r->next;
	read_ahead(r);
	unit->is_pair = r->has_next && r->next.weight && r->next.stack == first->stack &&
			r->next.event == first->event && profile_is_wait(r->profile, first);
	if (unit->is_pair) {
		unit->rows[1] = r->next;
		read_ahead(r);
	}
	return true;
}

static uint64_t unit_weight(const struct unit *unit)
{
	return (uint64_t)unit->rows[0].weight + (unit->is_pair ? unit->rows[1].weight : 0);
}

/* Units of lower weight are counted by weight. */
#define LIGHT 4096u

struct heavy_unit {
	uint64_t weight;
	bool is_pair;
};

/* Units of one event by weight. */
struct units {
	uint64_t light[2][LIGHT]; /* number of units by weight: single rows, and pairs */
	VEC(struct heavy_unit) heavy;
};

static void collect_units(const struct profile *p, size_t event, struct units *units)
{
	vec_for_each(&p->threads.rows, const struct profile_thread *, row) {
		struct unit_reader reader = unit_reader_begin(p, &row->samples);
		struct unit unit;

		while (next_unit(&reader, &unit)) {
			uint64_t weight = unit_weight(&unit);

			if (unit.rows[0].event != event || !unit.rows[0].weight)
				continue;
			if (weight < LIGHT)
				units->light[unit.is_pair][weight]++;
			else
				vec_push(&units->heavy, (struct heavy_unit){weight, unit.is_pair});
		}
	}
}

static uint64_t sum_weights(const struct units *units)
{
	uint64_t sum = 0;

	for (uint32_t weight = 0; weight < LIGHT; weight++)
		sum += weight * (units->light[0][weight] + units->light[1][weight]);
	vec_for_each(&units->heavy, const struct heavy_unit *, unit)
		sum += unit->weight;
	return sum;
}

/* Returns the expected number of rows that remain at this step. */
static double expected_rows(const struct units *units, uint64_t step)
{
	double sum = 0;

	for (uint32_t weight = 0; weight < LIGHT; weight++) {
		double points = weight / (double)step;

		sum += (double)units->light[0][weight] * fmin(points, 1);
		sum += (double)units->light[1][weight] * fmin(points, 2);
	}
	vec_for_each(&units->heavy, const struct heavy_unit *, unit)
		sum += fmin((double)unit->weight / (double)step, unit->is_pair ? 2 : 1);
	return sum;
}

/* Finds the smallest step that leaves at most this many rows of a kind. */
static uint64_t find_step(const struct profile *p, size_t event, uint64_t rows)
{
	struct units *units = xcalloc(1, sizeof(*units));
	uint64_t low = 1, high;

	collect_units(p, event, units);
	high = sum_weights(units) / rows + 1;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (expected_rows(units, middle) <= (double)rows)
			high = middle;
		else
			low = middle + 1;
	}
	vec_release(&units->heavy);
	free(units);
	return low;
}

/* Counts the kind's points within the next `weight`. */
static uint64_t points_in(struct row_kind *kind, uint64_t weight)
{
	double step = (double)kind->step, from = (double)kind->passed;

	kind->passed += weight;
	return (uint64_t)(points_before(SEED, (double)kind->passed, step) -
			  points_before(SEED, from, step));
}

/* Collects the remaining rows of a thread. */
struct thinning {
	struct row_bounds *bounds;
	struct samples out;
	uint64_t used_ns; /* CPU time of left-out rows, added to the next row */
};

static void keep(struct thinning *t, struct sample sample, uint64_t weight)
{
	sample.weight = saturated(weight);
	if (!sample.event && !t->bounds->has_readings) {
		sample.cpu_delta = saturated(sample.cpu_delta + t->used_ns);
		t->used_ns = 0;
	}
	samples_add(&t->out, &sample);
}

static void leave_out(struct thinning *t, const struct sample *sample)
{
	struct row_kind *kind = &t->bounds->kinds[sample->event];

	kind->rows--;
	kind->left_out++;
	/* A later reading includes the dropped row's time. */
	if (!t->bounds->has_readings)
		t->used_ns += sample->cpu_delta;
}

static void thin(struct thinning *t, const struct unit *unit)
{
	const struct sample *first = &unit->rows[0], *last = &unit->rows[1];
	struct row_kind *kind = &t->bounds->kinds[first->event];
	uint64_t points = points_in(kind, unit_weight(unit));

	if (!points) {
		leave_out(t, first);
		if (unit->is_pair)
			leave_out(t, last);
	} else if (unit->is_pair && points > 1) {
		keep(t, *first, kind->step);
		keep(t, *last, (points - 1) * kind->step);
	} else {
		keep(t, *first, points * kind->step);
		if (unit->is_pair)
			leave_out(t, last);
	}
}

/* Keeps the CPU time of dropped rows at the end of a thread, after the last remaining row. */
static void keep_time(struct thinning *t, struct sample last)
{
	if (!t->used_ns)
		return;
	last.stack = NO_STACK;
	last.weight = 0;
	last.event = 0;
	last.cpu_delta = 0;
	keep(t, last, 0);
}

static void thin_thread(struct row_bounds *b, struct profile_thread *row)
{
	struct thinning t = {.bounds = b};
	struct unit_reader reader = unit_reader_begin(b->profile, &row->samples);
	struct sample last = {0};
	struct unit unit;

	if (!samples_count(&row->samples)) {
		sample_iterator_release(&reader.samples);
		return;
	}
	while (next_unit(&reader, &unit)) {
		last = unit.rows[unit.is_pair];
		if (unit.rows[0].weight && b->kinds[unit.rows[0].event].step) {
			thin(&t, &unit);
			continue;
		}
		keep(&t, unit.rows[0], unit.rows[0].weight);
		if (unit.is_pair)
			keep(&t, unit.rows[1], unit.rows[1].weight);
	}
	keep_time(&t, last);
	samples_release(&row->samples);
	row->samples = t.out;
}

static void count_left_out(struct profile *p, const struct row_kind *kind, size_t event)
{
	p->stats.left_out_rows += kind->left_out;
	if (event)
		p->events.rows.items[event].samples -= kind->left_out;
	thinned_add(p, (uint8_t)event, kind->left_out, kind->weight);
}

static uint64_t sum_rows(const struct row_bounds *b)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < EVENT_COUNTS_MAX; i++)
		sum += b->kinds[i].rows;
	return sum;
}

static uint64_t find_share(const struct row_bounds *b, uint64_t max)
{
	uint64_t counts[EVENT_COUNTS_MAX];

	for (size_t i = 0; i < EVENT_COUNTS_MAX; i++)
		counts[i] = b->kinds[i].rows;
	return fair_share(counts, EVENT_COUNTS_MAX, max);
}

/* Reduces the rows to about this number. */
static void limit_rows(struct row_bounds *b, uint64_t max)
{
	uint64_t share = find_share(b, max);

	share += !share;
	for (size_t i = 0; i < EVENT_COUNTS_MAX; i++) {
		struct row_kind *kind = &b->kinds[i];

		kind->passed = 0;
		kind->step = kind->rows > share ? find_step(b->profile, i, share) : 0;
		kind->weight = MAX(kind->weight, kind->step);
	}
	vec_for_each(&b->profile->threads.rows, struct profile_thread *, row)
		thin_thread(b, row);
}

static double allowed(uint64_t limit, uint64_t is)
{
	return is <= limit ? 1 : (double)limit / (double)is;
}

/* Returns the approximate share of rows within the limits; 1: all. */
static double allowed_share(const struct row_bounds *b)
{
	uint64_t rows = sum_rows(b), stacks = b->profile->stacks.rows.count;
	double share = allowed(b->limits.bytes,
			       rows * ROW_BYTES + b->gaps * GAP_BYTES + stacks * STACK_BYTES);

	share = fmin(share, allowed(b->limits.rows, rows));
	return fmin(share, allowed(b->limits.stacks, stacks));
}

/* Merges rows without changing the weight of any stack. */
static void merge_rows(struct row_bounds *b)
{
	struct profile *p = b->profile;

	vec_for_each(&p->threads.rows, struct profile_thread *, row)
		p->stats.merged_rows += row_merging_waits(p, &row->samples, b->has_readings);
	count_rows(b);
	if (allowed_share(b) < 1) {
		vec_for_each(&p->threads.rows, struct profile_thread *, row)
			p->stats.merged_rows += row_merging_ticks(p, &row->samples, WINDOW_NS,
								  b->has_readings);
		count_rows(b);
	}
}

static void drop_unused(struct row_bounds *b)
{
	if (b->drop_unused)
		b->drop_unused(b->ctx);
	else
		profile_drop_unused(b->profile);
}

void row_bounds_init(struct row_bounds *b, struct profile *p, struct row_limits limits)
{
	*b = (struct row_bounds){
		.profile = p,
		.limits = limits,
	};
}

/*
 * Reduces the rows to about the limits; each round comes closer. May be called again after more
 * rows were added.
 */
static void row_bounds_limit(struct row_bounds *b, int rounds)
{
	double share;

	count_rows(b);
	if (allowed_share(b) == 1)
		return;
	/* Dropped markers may have been the last users of stacks. */
	drop_unused(b);
	if (allowed_share(b) < 1)
		merge_rows(b);
	for (int round = 0; round < rounds; round++) {
		share = allowed_share(b);
		if (share == 1)
			break;
		limit_rows(b, (uint64_t)((double)sum_rows(b) * share));
		count_rows(b);
		drop_unused(b);
	}
}

void row_bounds_finish(struct row_bounds *b)
{
	struct profile *p = b->profile;

	row_bounds_limit(b, ROUNDS_MAX);
	if (p->stats.merged_rows)
		profile_add_count(p, FACT_MERGED_ROWS, NULL, p->stats.merged_rows);
	for (size_t i = 0; i < EVENT_COUNTS_MAX; i++) {
		if (b->kinds[i].left_out)
			count_left_out(p, &b->kinds[i], i);
	}
}

/* Smaller tables are not searched for unused values. */
#define VALUES_MIN ((size_t)1 << 16)
#define STACKS_MIN ((size_t)1 << 17)
/* Maximum number of dropped markers whose values stay. */
#define DROPPED_MAX (MARKERS_MAX / 4)
/* Rows are counted every this many records. */
#define RECORDS (1u << 18)
/* Below this fraction of the stacks' limit, rows are few and not thinned to save stacks. */
#define FEW_ROWS 16
/* Rows are limited once they exceed the limit this many times. */
#define EXCESS 2

/* Copies the values in use, and records their new numbers plus one. */
struct value_copy {
	struct markers *markers;
	struct markers into; /* only values are used */
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
	r->values_next = MAX(r->values_next, VALUES_MIN);
}

static size_t count_used(const bool *used, size_t count)
{
	size_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += used[i];
	return sum;
}

/* Drops unused stacks; unless `all` is set, only if they are a quarter or more. */
static void reclaim_stacks(struct reclaim *r, bool all)
{
	struct profile *p = r->profile;
	size_t count = p->stacks.rows.count, limit = EXCESS * r->bounds.limits.stacks;
	bool *used = xcalloc(count + 1, sizeof(*used));
	stack_id *map = NULL;

	profile_mark_stacks(p, used);
	sample_feed_mark_stacks(r->samples, used);
	vec_for_each(&r->markers->machine, const struct marker *, marker)
		profile_mark_marker(r->profile, marker, used);
	if (all || count_used(used, count) < count - count / 4) {
		map = profile_keep_stacks(p, used);
		sample_feed_move_stacks(r->samples, map);
	}
	free(map);
	free(used);
	r->stacks_next = 2 * p->stacks.rows.count;
	if (!r->is_off && r->stacks_next > limit)
		r->stacks_next = limit;
	/* Search again only after some growth: the remaining stacks are in use. */
	r->stacks_next = MAX(r->stacks_next, p->stacks.rows.count + p->stacks.rows.count / 4);
	r->stacks_next = MAX(r->stacks_next, STACKS_MIN);
}

static void reclaim_drop_unused(void *ctx)
{
	struct reclaim *r = ctx;

	reclaim_values(r);
	reclaim_stacks(r, true);
}

static void reclaim_limit_rows(struct reclaim *r)
{
	waits_place(&r->samples->waits);
	r->bounds.drop_unused = reclaim_drop_unused;
	r->bounds.ctx = r;
	r->bounds.has_readings = true;
	row_bounds_limit(&r->bounds, 1);
}

static uint64_t reclaim_count_rows(const struct reclaim *r)
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
	/* Leave rows alone if they are few: markers have stacks, too. */
	if (!r->is_off && r->profile->stacks.rows.count > limit &&
	    reclaim_count_rows(r) > limit / FEW_ROWS)
		reclaim_limit_rows(r);
}

static bool rows_are_due(struct reclaim *r)
{
	if (r->keeps_stacks || r->is_off || ++r->records < RECORDS)
		return false;
	r->records = 0;
	return reclaim_count_rows(r) > EXCESS * r->bounds.limits.rows;
}

/* The tables to search in one pass. */
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
		reclaim_limit_rows(r);
	/* Return memory freed between remaining blocks to the system. */
	malloc_trim(0);
}

void reclaim_step(struct reclaim *r)
{
	struct pass pass = {
		.reclaim = r,
		.values = r->profile->markers.values.count >= r->values_next ||
			  r->markers->bounds.dropped >= DROPPED_MAX,
		.stacks = !r->keeps_stacks && r->profile->stacks.rows.count >= r->stacks_next,
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
