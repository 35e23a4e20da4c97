/* SPDX-License-Identifier: MIT */
#include "lib/stream/session/row_bounds.h"

#include <math.h>

#include "lib/base/alloc.h"
#include "lib/model/tables/thinned.h"
#include "lib/stream/session/markers/fair_share.h"
#include "lib/stream/session/row_merging.h"
#include "lib/stream/session/waits/points.h"

#define SEED 0x726f7773u
/* Bytes of a row in a file, of the two that mark a gap, and of a stack with inlined functions. */
#define ROW_BYTES 33
#define GAP_BYTES 34
#define STACK_BYTES 13
/* Fewer rows have fewer stacks, but nobody knows how many fewer. */
#define ROUNDS_MAX 8
#define WINDOW_NS 100000000u

/* Does the file mark the time before the row as off the CPU? */
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

static uint32_t saturated(uint64_t value)
{
	return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

/* Rows that are left out or stay together: one, or the two of a wait, the second at its end. */
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

/* False at the end, which releases the reader. */
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

/* Lighter units are counted together. */
#define LIGHT 4096u

struct heavy_unit {
	uint64_t weight;
	bool is_pair;
};

/* Units of one event by weight. */
struct units {
	uint64_t light[2][LIGHT]; /* numbers of those that are no pairs, and of pairs */
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

/* Returns how many rows a step leaves on average. */
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

/* Finds the smallest step that leaves this many rows of a kind, or fewer. */
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

/* Counts the points of a kind in the weight that comes next. */
static uint64_t points_in(struct row_kind *kind, uint64_t weight)
{
	double step = (double)kind->step, from = (double)kind->passed;

	kind->passed += weight;
	return (uint64_t)(points_before(SEED, (double)kind->passed, step) -
			  points_before(SEED, from, step));
}

/* Collects the rows of a thread that stay. */
struct thinning {
	struct row_bounds *bounds;
	struct samples out;
	uint64_t used_ns; /* CPU time of rows that were left out, for the next one */
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
	/* A later reading has it in it. */
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

/* Keeps the CPU time of a thread of which no later row is left. */
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

static void tell(struct profile *p, const struct row_kind *kind, size_t event)
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

/* Leaves about this many rows. */
static void limit_rows(struct row_bounds *b, uint64_t max)
{
	uint64_t share = find_share(b, max);

	share += !share;
	for (size_t i = 0; i < EVENT_COUNTS_MAX; i++) {
		struct row_kind *kind = &b->kinds[i];

		kind->passed = 0;
		kind->step = kind->rows > share ? find_step(b->profile, i, share) : 0;
		if (kind->step > kind->weight)
			kind->weight = kind->step;
	}
	vec_for_each(&b->profile->threads.rows, struct profile_thread *, row)
		thin_thread(b, row);
}

static double allowed(uint64_t limit, uint64_t is)
{
	return is <= limit ? 1 : (double)limit / (double)is;
}

/* Returns the share of the rows that the limits allow, about; 1: all. */
static double allowed_share(const struct row_bounds *b)
{
	uint64_t rows = sum_rows(b), stacks = b->profile->stacks.rows.count;
	double share = allowed(b->limits.bytes,
			       rows * ROW_BYTES + b->gaps * GAP_BYTES + stacks * STACK_BYTES);

	share = fmin(share, allowed(b->limits.rows, rows));
	return fmin(share, allowed(b->limits.stacks, stacks));
}

/* Makes fewer rows without a change of what any stack weighs. */
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

void row_bounds_limit(struct row_bounds *b, int rounds)
{
	double share;

	count_rows(b);
	if (allowed_share(b) == 1)
		return;
	/* Markers that were left out have stacks, too. */
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
			tell(p, &b->kinds[i], i);
	}
}
