/* SPDX-License-Identifier: MIT */
#include "lib/query/comparison.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/model/tables/thinned.h"
#include "lib/query/distributions.h"
#include "lib/query/run_weights.h"

const char *const comparison_mark_names[COMPARISON_MARK_COUNT] = {
	[COMPARISON_PLAIN] = "",
	[COMPARISON_NEW] = "new",
	[COMPARISON_GONE] = "gone",
	[COMPARISON_INLINED] = "inlined",
	[COMPARISON_OUTLINED] = "no longer inlined",
};

/* Marks rows that are too light to be compared. */
#define NO_ROW UINT32_MAX

static struct sample_values values_of(double *const *values, const size_t *counts, int side)
{
	return (struct sample_values){values[side], counts[side]};
}

static double mean(struct sample_values values)
{
	double sum = 0;

	for (size_t i = 0; i < values.count; i++)
		sum += values.items[i];
	return sum / (double)values.count;
}

/* An interval of a log ratio, or of a share, of one run a side: by the noise that is assumed. */
static struct interval assume(struct interval i, double noise, double sampling, double alpha)
{
	if (noise < 0)
		return i;
	return interval_of(i.estimate, sqrt(2 * noise * noise + sampling), DISTRIBUTION_DF_MAX,
			   alpha);
}

static int set_times(struct comparison *c, const struct query_runs *const *sides,
		     const struct run_weights *w, const struct comparison_options *o,
		     struct error *err)
{
	for (int side = 0; side < SIDE_COUNT; side++) {
		vec_for_each(&w->runs[side], const struct run_total *, run)
			c->is_by_samples |= !(run->cpu_ms > 0);
	}
	for (int side = 0; side < SIDE_COUNT; side++) {
		for (size_t i = 0; i < c->runs[side]; i++) {
			const struct run_total *run = &w->runs[side].items[i];
			double wall_ms = (double)sides[side]->rows.items[i].wall_ns / 1e6;

			c->cpu_ms[side][i] = c->is_by_samples ? run->sampled_ms : run->cpu_ms;
			c->all_weights[side][i] = run->weight;
			c->times[side][i] = o->is_wall ? wall_ms : c->cpu_ms[side][i];
			if (!(c->times[side][i] > 0))
				return error_text(err, -ENODATA, "a run has no %s time",
						  o->is_wall ? "wall" : "CPU");
		}
	}
	return 0;
}

/* The standard error of the CPU time's log ratio. */
static double cpu_error(const struct comparison *c, double noise)
{
	struct sample_values a = values_of(c->cpu_ms, c->runs, SIDE_A);
	struct sample_values b = values_of(c->cpu_ms, c->runs, SIDE_B);
	struct interval i = c->is_paired ? interval_paired(a, b, c->alpha)
					 : interval_unpaired(a, b, c->alpha);

	return c->is_single ? sqrt(2) * fmax(noise, 0) : i.error;
}

static void compare_times(struct comparison *c, double noise)
{
	struct sample_values a = values_of(c->times, c->runs, SIDE_A);
	struct sample_values b = values_of(c->times, c->runs, SIDE_B);
	struct interval i = c->is_paired ? interval_paired(a, b, c->alpha)
					 : interval_unpaired(a, b, c->alpha);

	c->cpu_error = cpu_error(c, noise);
	c->ms[SIDE_A] = mean(a);
	c->ms[SIDE_B] = mean(b);
	if (c->is_single)
		i = assume(i, noise, 0, c->alpha);
	c->total = interval_from_log(i);
}

/* Numbers rows that are heavy enough; returns how many there are. */
static size_t choose_rows(struct comparison *c, const struct run_weights *w, uint32_t *numbers)
{
	double all = 0;
	size_t count = 0;

	for (int side = 0; side < SIDE_COUNT; side++) {
		for (size_t i = 0; i < c->runs[side]; i++)
			all += c->all_weights[side][i];
	}
	for (size_t i = 0; i < w->rows.count; i++) {
		bool is_heavy = w->rows.items[i].weight >= COMPARISON_MIN_SHARE * all;

		numbers[i] = is_heavy ? (uint32_t)count : NO_ROW;
		count += is_heavy;
	}
	c->left_out = w->rows.count - count;
	return count;
}

static enum comparison_mark mark_of(const struct run_row *row, const struct share_row *share)
{
	if (share->shares[SIDE_A] == 0)
		return COMPARISON_NEW;
	if (share->shares[SIDE_B] == 0)
		return COMPARISON_GONE;
	if (row->is_physical[SIDE_A] == row->is_physical[SIDE_B])
		return COMPARISON_PLAIN;
	return row->is_physical[SIDE_A] ? COMPARISON_INLINED : COMPARISON_OUTLINED;
}

static void make_rows(struct comparison *c, const struct run_weights *w, const uint32_t *numbers,
		      size_t count)
{
	size_t width = c->runs[SIDE_A] + c->runs[SIDE_B];

	c->row_weights = xcalloc(count * width + 1, sizeof(*c->row_weights));
	for (size_t i = 0; i < w->rows.count; i++) {
		const struct run_row *from = &w->rows.items[i];
		struct comparison_row row = {0};
		double *weights;

		if (numbers[i] == NO_ROW)
			continue;
		weights = c->row_weights + numbers[i] * width;
		row.name = xstrdup(strings_get(&w->texts, from->name));
		if (from->place != NO_STRING)
			row.place = xstrdup(strings_get(&w->texts, from->place));
		row.share.weights[SIDE_A] = weights;
		row.share.weights[SIDE_B] = weights + c->runs[SIDE_A];
		vec_push(&c->rows, row);
	}
	vec_for_each(&w->weights, const struct run_weight *, one) {
		uint32_t number = numbers[one->row];

		if (number != NO_ROW)
			c->row_weights[number * width + (one->side ? c->runs[SIDE_A] : 0) +
				       one->run] += one->weight;
	}
}

static void compare_shares(struct comparison *c, double noise)
{
	_cleanup_free_ struct share_row *shares = xcalloc(c->rows.count + 1, sizeof(*shares));
	struct share_runs runs = {
		.weights = {c->all_weights[SIDE_A], c->all_weights[SIDE_B]},
		.counts = {c->runs[SIDE_A], c->runs[SIDE_B]},
		.row_weight = c->sample_weight,
	};

	for (size_t i = 0; i < c->rows.count; i++)
		shares[i] = c->rows.items[i].share;
	shares_compare(shares, c->rows.count, &runs, noise > 0 ? noise : 0, c->alpha, &c->prior);
	for (size_t i = 0; i < c->rows.count; i++)
		c->rows.items[i].share = shares[i];
}

/* One run a side: samples are counted, and counts have an error by themselves. */
static void assume_row(struct comparison_row *row, const struct comparison *c, double noise)
{
	double a = row->share.weights[SIDE_A][0], b = row->share.weights[SIDE_B][0];
	double ratio = row->ratio.estimate + 1;

	if (noise < 0 || !(a > 0) || !(b > 0))
		return;
	row->ratio = assume(row->ratio, noise * ratio,
			    ratio * ratio * c->sample_weight * (1 / a + 1 / b), c->alpha);
	row->difference = interval_of(row->difference.estimate, row->ratio.error * row->ms[SIDE_A],
				      row->ratio.df, c->alpha);
}

/*
 * The probability of such a difference in time by chance: from the dispersion of the row's share,
 * which says more than the row's own few times, and the error of the CPU time.
 */
static double p_of_time(const struct comparison *c, const struct comparison_row *row)
{
	double cpu[SIDE_COUNT], share, variance = 0, error;

	for (int side = 0; side < SIDE_COUNT; side++)
		cpu[side] = mean(values_of(c->cpu_ms, c->runs, side));
	share = (row->ms[SIDE_A] + row->ms[SIDE_B]) / (cpu[SIDE_A] + cpu[SIDE_B]);
	for (int side = 0; side < SIDE_COUNT; side++) {
		double weight = 0;

		for (size_t i = 0; i < c->runs[side]; i++)
			weight += c->all_weights[side][i];
		variance += cpu[side] * cpu[side] / weight;
	}
	variance *= c->sample_weight * row->share.dispersion * share * (1 - share);
	error = c->cpu_error * (row->ms[SIDE_A] + row->ms[SIDE_B]) / 2;
	variance += error * error;
	return variance > 0 ? 2 * student_tail(fabs(row->difference.estimate) / sqrt(variance),
					       row->share.df)
			    : 1;
}

/*
 * A share differs, too, because others do: where one function takes longer, all others have less.
 * So the time must differ as well, and in the same direction.
 */
static bool row_differs(const struct comparison_row *row, const struct comparison *c, double time_p,
			double noise)
{
	if (row->share.adjusted_p > c->alpha)
		return false;
	if (c->is_single && noise < 0)
		return row->share.estimate * row->difference.estimate > 0;
	if (time_p > c->alpha)
		return false;
	return row->share.estimate > 0 ? row->difference.low > 0 : row->difference.high < 0;
}

static void find_differing(struct comparison *c, double noise)
{
	_cleanup_free_ double *p = xcalloc(c->rows.count + 1, sizeof(*p));

	for (size_t i = 0; i < c->rows.count; i++)
		p[i] = p_of_time(c, &c->rows.items[i]);
	holm_adjust(p, c->rows.count);
	for (size_t i = 0; i < c->rows.count; i++)
		c->rows.items[i].differs = row_differs(&c->rows.items[i], c, p[i], noise);
}

static void compare_ms(struct comparison *c, struct comparison_row *row, double noise)
{
	double *ms[SIDE_COUNT];
	struct sample_values values[SIDE_COUNT];

	for (int side = 0; side < SIDE_COUNT; side++) {
		ms[side] = xcalloc(c->runs[side] + 1, sizeof(**ms));
		for (size_t i = 0; i < c->runs[side]; i++)
			ms[side][i] = row->share.weights[side][i] / c->all_weights[side][i] *
				      c->cpu_ms[side][i];
		values[side] = values_of(ms, c->runs, side);
		row->ms[side] = mean(values[side]);
	}
	row->difference = interval_of_difference(values[SIDE_A], values[SIDE_B], c->is_paired,
						 c->alpha);
	row->ratio = interval_of_ratio(values[SIDE_A], values[SIDE_B], c->is_paired, c->alpha);
	if (c->is_single)
		assume_row(row, c, noise);
	for (int side = 0; side < SIDE_COUNT; side++)
		free(ms[side]);
}

static int compare_rows(const void *a, const void *b)
{
	const struct comparison_row *x = a, *y = b;
	double left = fabs(x->difference.estimate), right = fabs(y->difference.estimate);
	int order;

	if (x->differs != y->differs)
		return x->differs ? -1 : 1;
	if (left != right)
		return left > right ? -1 : 1;
	order = strcmp(x->name, y->name);
	return order ? order : strcmp(x->place ? x->place : "", y->place ? y->place : "");
}

/* Returns the largest weight that a sample of any run stands for at least. */
static double sample_weight_of(const struct query_runs *const *sides)
{
	uint64_t most = 1;

	for (int side = 0; side < SIDE_COUNT; side++) {
		vec_for_each(&sides[side]->rows, const struct query_run *, run) {
			uint64_t weight = thinned_weight(run->profile);

			if (weight > most)
				most = weight;
		}
	}
	return (double)most;
}

static void compare(struct comparison *c, const struct run_weights *w,
		    const struct comparison_options *o)
{
	_cleanup_free_ uint32_t *numbers = xcalloc(w->rows.count + 1, sizeof(*numbers));
	size_t count = choose_rows(c, w, numbers), row = 0;

	compare_times(c, o->noise);
	make_rows(c, w, numbers, count);
	compare_shares(c, o->noise);
	for (size_t i = 0; i < w->rows.count; i++) {
		struct comparison_row *it;

		if (numbers[i] == NO_ROW)
			continue;
		it = &c->rows.items[row++];
		if (o->by == QUERY_BY_FUNCTION)
			it->mark = mark_of(&w->rows.items[i], &it->share);
		compare_ms(c, it, o->noise);
	}
	find_differing(c, o->noise);
	vec_sort(&c->rows, compare_rows);
}

static uint32_t looks_of(const struct query_runs *const *sides)
{
	uint32_t looks = 1;

	for (int side = 0; side < SIDE_COUNT; side++) {
		vec_for_each(&sides[side]->rows, const struct query_run *, run)
			looks = run->looks > looks ? run->looks : looks;
	}
	return looks;
}

int comparison_make(struct comparison *c, struct query_runs *a, struct query_runs *b,
		    const struct comparison_options *options, struct error *err)
{
	const struct query_runs *const sides[SIDE_COUNT] = {a, b};
	struct run_weights w = {0};
	int ret;

	*c = (struct comparison){.is_paired = query_runs_are_pairs(a, b), .looks = looks_of(sides)};
	c->alpha = COMPARISON_ALPHA / c->looks;
	c->sample_weight = sample_weight_of(sides);
	for (int side = 0; side < SIDE_COUNT; side++) {
		c->runs[side] = sides[side]->rows.count;
		c->times[side] = xcalloc(c->runs[side] + 1, sizeof(double));
		c->cpu_ms[side] = xcalloc(c->runs[side] + 1, sizeof(double));
		c->all_weights[side] = xcalloc(c->runs[side] + 1, sizeof(double));
	}
	c->is_single = c->runs[SIDE_A] == 1 && c->runs[SIDE_B] == 1;
	ret = run_weights_make(&w, a, b, &options->filter, options->by, err);
	if (!ret)
		ret = set_times(c, sides, &w, options, err);
	if (!ret)
		compare(c, &w, options);
	run_weights_release(&w);
	if (ret)
		comparison_release(c);
	return ret;
}

void comparison_release(struct comparison *c)
{
	vec_for_each(&c->rows, struct comparison_row *, row) {
		free(row->name);
		free(row->place);
	}
	vec_release(&c->rows);
	free(c->row_weights);
	for (int side = 0; side < SIDE_COUNT; side++) {
		free(c->times[side]);
		free(c->cpu_ms[side]);
		free(c->all_weights[side]);
	}
	*c = (struct comparison){0};
}

const struct comparison_row *comparison_find(const struct comparison *c, const char *name)
{
	vec_for_each(&c->rows, const struct comparison_row *, row) {
		if (strcmp(row->name, name) == 0)
			return row;
	}
	return NULL;
}
