/* SPDX-License-Identifier: MIT */
#include "lib/session/row_bounds.h"

#include <math.h>

#include "lib/profile/thinned.h"
#include "lib/session/markers/fair_share.h"
#include "lib/session/waits/points.h"

#define SEED 0x726f7773u
/* Bytes that a row and a stack take in a file, with those of gaps and of inlined functions. */
#define ROW_BYTES 25
#define STACK_BYTES 13
/* Fewer rows have fewer stacks, but nobody knows how many fewer. */
#define ROUNDS_MAX 8

/* Rows of one event; event 0 is the clock, with the waits. */
struct kind {
	uint64_t rows; /* without those that stand for nothing */
	uint64_t left_out; /* were there, too */
	uint64_t step; /* weight that one row stands for at least; 0: all stay */
	uint64_t weight; /* the largest step so far */
	uint64_t passed; /* weight of the rows before */
};

struct row_bounds {
	struct profile *profile;
	struct kind kinds[EVENT_COUNTS_MAX];
};

static void count_rows(struct row_bounds *b)
{
	vec_for_each(&b->profile->threads.rows, const struct profile_thread *, row) {
		vec_for_each(&row->samples, const struct sample *, sample)
			b->kinds[sample->event].rows += sample->weight != 0;
	}
}

static uint32_t saturated(uint64_t value)
{
	return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

/* A wait's rows, of which the second is at its end, are left out or stay together. */
static bool is_pair(const struct profile *p, const struct sample *first, const struct sample *end)
{
	return first + 1 < end && first[1].stack == first->stack && first[1].weight &&
	       first[1].event == first->event && profile_is_wait(p, first);
}

/* A row, or the two of a wait. */
struct unit {
	uint32_t weight;
	bool is_pair;
};

struct units {
	VEC(struct unit) rows;
};

static struct unit unit_at(const struct profile *p, const struct sample *first,
			   const struct sample *end)
{
	uint64_t weight = first->weight;
	bool pair = is_pair(p, first, end);

	if (pair)
		weight += first[1].weight;
	return (struct unit){saturated(weight), pair};
}

static void collect_units(const struct profile *p, size_t event, struct units *units)
{
	vec_for_each(&p->threads.rows, const struct profile_thread *, row) {
		const struct sample *end = row->samples.items + row->samples.count;

		for (const struct sample *at = row->samples.items; at < end; at++) {
			if (at->event != event || !at->weight)
				continue;
			vec_push(&units->rows, unit_at(p, at, end));
			at += vec_last(&units->rows).is_pair;
		}
	}
}

static uint64_t sum_weights(const struct units *units)
{
	uint64_t sum = 0;

	vec_for_each(&units->rows, const struct unit *, unit)
		sum += unit->weight;
	return sum;
}

/* Returns how many rows a step leaves on average. */
static double expected_rows(const struct units *units, uint64_t step)
{
	double sum = 0;

	vec_for_each(&units->rows, const struct unit *, unit) {
		double points = (double)unit->weight / (double)step;

		sum += fmin(points, unit->is_pair ? 2 : 1);
	}
	return sum;
}

/* Finds the smallest step that leaves so many rows of a kind, or fewer. */
static uint64_t find_step(const struct profile *p, size_t event, uint64_t rows)
{
	struct units units = {0};
	uint64_t low = 1, high;

	collect_units(p, event, &units);
	high = sum_weights(&units) / rows + 1;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (expected_rows(&units, middle) <= (double)rows)
			high = middle;
		else
			low = middle + 1;
	}
	vec_release(&units.rows);
	return low;
}

/* Counts the points of a kind in the weight that comes next. */
static uint64_t points_in(struct kind *kind, uint64_t weight)
{
	double step = (double)kind->step, from = (double)kind->passed;

	kind->passed += weight;
	return (uint64_t)(points_before(SEED, (double)kind->passed, step) -
			  points_before(SEED, from, step));
}

/* Writes the rows of a thread that stay over its old ones. */
struct thinning {
	struct row_bounds *bounds;
	struct sample *out;
	uint64_t used_ns; /* CPU time of rows that were left out, for the next one */
};

static void keep(struct thinning *t, struct sample sample, uint64_t weight)
{
	sample.weight = saturated(weight);
	if (!sample.event) {
		sample.cpu_delta = saturated(sample.cpu_delta + t->used_ns);
		t->used_ns = 0;
	}
	*t->out++ = sample;
}

static void leave_out(struct thinning *t, const struct sample *sample)
{
	struct kind *kind = &t->bounds->kinds[sample->event];

	kind->rows--;
	kind->left_out++;
	t->used_ns += sample->cpu_delta;
}

/* Thins one row, or the two of a wait. */
static void thin(struct thinning *t, const struct sample *rows, size_t count)
{
	struct kind *kind = &t->bounds->kinds[rows->event];
	struct sample first = rows[0], last = rows[count - 1];
	uint64_t weight = (uint64_t)first.weight + (count > 1 ? last.weight : 0);
	uint64_t points = points_in(kind, weight);

	if (!points) {
		for (size_t i = 0; i < count; i++)
			leave_out(t, &rows[i]);
	} else if (count > 1 && points > 1) {
		keep(t, first, kind->step);
		keep(t, last, (points - 1) * kind->step);
	} else {
		keep(t, first, points * kind->step);
		if (count > 1)
			leave_out(t, &last);
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
	struct thinning t = {.bounds = b, .out = row->samples.items};
	const struct sample *at = row->samples.items, *end = at + row->samples.count;
	struct sample last;
	size_t count;

	if (!row->samples.count)
		return;
	last = end[-1];
	for (; at < end; at += count) {
		count = 1;
		if (!at->weight || !b->kinds[at->event].step) {
			keep(&t, *at, at->weight);
			continue;
		}
		count += is_pair(b->profile, at, end);
		thin(&t, at, count);
	}
	keep_time(&t, last);
	row->samples.count = (size_t)(t.out - row->samples.items);
}

static void tell(struct profile *p, const struct kind *kind, size_t event)
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

/* Leaves about so many rows. */
static void limit_rows(struct row_bounds *b, uint64_t max)
{
	uint64_t share = find_share(b, max);

	share += !share;
	for (size_t i = 0; i < EVENT_COUNTS_MAX; i++) {
		struct kind *kind = &b->kinds[i];

		kind->passed = 0;
		kind->step = kind->rows > share ? find_step(b->profile, i, share) : 0;
		if (kind->step > kind->weight)
			kind->weight = kind->step;
	}
	vec_for_each(&b->profile->threads.rows, struct profile_thread *, row)
		thin_thread(b, row);
}

/* Rows and stacks as a file has them. */
static uint64_t file_bytes(const struct row_bounds *b)
{
	return sum_rows(b) * ROW_BYTES + b->profile->stacks.rows.count * STACK_BYTES;
}

void row_bounds_limit(struct profile *p, uint64_t bytes_max)
{
	struct row_bounds b = {.profile = p};
	uint64_t bytes, rows;

	count_rows(&b);
	if (file_bytes(&b) <= bytes_max)
		return;
	/* Markers that were left out have stacks, too. */
	profile_drop_unused(p);
	for (int round = 0; round < ROUNDS_MAX; round++) {
		bytes = file_bytes(&b);
		if (bytes <= bytes_max)
			break;
		rows = (uint64_t)((double)sum_rows(&b) * (double)bytes_max / (double)bytes);
		limit_rows(&b, rows);
		profile_drop_unused(p);
	}
	for (size_t i = 0; i < EVENT_COUNTS_MAX; i++) {
		if (b.kinds[i].left_out)
			tell(p, &b.kinds[i], i);
	}
}
