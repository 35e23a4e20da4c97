/* SPDX-License-Identifier: MIT */
#include "lib/query/shares.h"

#include <math.h>

#include "lib/query/intervals.h"

/*
 * Maximum weight of the common dispersion, in degrees of freedom: noise differs between functions,
 * and a few rows hardly reveal by how much.
 */
#define PRIOR_DF_MAX 20
/* A slope of 1 is a noise of 100 %. */
#define SLOPE_MAX 1e4
#define BISECTIONS 100

struct totals {
	double weights[SIDE_COUNT]; /* weight of all samples, by side */
	double all; /* weight of all samples of both sides */
	double row_weight;
	double per_run; /* mean number of samples in a run */
	double df; /* degrees of freedom between runs, for all sides; 0: none */
};

static double sum(const double *values, size_t count)
{
	double total = 0;

	for (size_t i = 0; i < count; i++)
		total += values[i];
	return total;
}

static struct totals totals_of(const struct share_runs *runs)
{
	size_t count = runs->counts[SIDE_A] + runs->counts[SIDE_B];
	struct totals t = {
		.df = (double)count - SIDE_COUNT,
		.row_weight = runs->row_weight > 1 ? runs->row_weight : 1,
	};

	for (int side = 0; side < SIDE_COUNT; side++)
		t.weights[side] = sum(runs->weights[side], runs->counts[side]);
	t.all = t.weights[SIDE_A] + t.weights[SIDE_B];
	t.per_run = t.all / t.row_weight / (double)count;
	return t;
}

/* Returns the variance of one sample of the row, given the share common to both sides. */
static double binomial_variance(const struct share_row *row, const struct totals *t)
{
	double share = (row->shares[SIDE_A] * t->weights[SIDE_A] +
			row->shares[SIDE_B] * t->weights[SIDE_B]) /
		       t->all;

	return share * (1 - share);
}

/* Returns the variance of a unit of weight; a row's weight consists of several. */
static double unit_variance(const struct share_row *row, const struct totals *t)
{
	return t->row_weight * binomial_variance(row, t);
}

/*
 * Returns Pearson's dispersion: squared deviations of runs from their side's share, in binomial
 * variances.
 */
static double own_dispersion(const struct share_row *row, const struct share_runs *runs,
			     const struct totals *t)
{
	double unit = unit_variance(row, t), squares = 0;

	if (t->df < 1)
		return NAN;
	if (unit <= 0)
		return 0;
	for (int side = 0; side < SIDE_COUNT; side++) {
		for (size_t i = 0; i < runs->counts[side]; i++) {
			double all = runs->weights[side][i];
			double difference = row->weights[side][i] - all * row->shares[side];

			squares += difference * difference / (all * unit);
		}
	}
	return squares / t->df;
}

/*
 * Noise proportional to a function's time grows with its number of samples, so the common
 * dispersion is linear in that number.
 */
static double common_dispersion(const struct share_row *row, const struct totals *t, double slope)
{
	return 1 + slope * t->per_run * binomial_variance(row, t);
}

/* Returns the ratio to the common dispersion that one row in a hundred exceeds by chance. */
static double ratio_limit(const struct totals *t)
{
	/* Wilson and Hilferty's approximation of chi squared. */
	double variance = 2 / (9 * t->df);

	return pow(1 - variance + student_quantile(0.99, DISTRIBUTION_DF_MAX) * sqrt(variance), 3);
}

/*
 * Returns the mean excess of dispersions over a line with that slope. Ratios are capped, so that
 * one very noisy row does not dominate the others.
 */
static double mean_excess(const struct share_row *rows, size_t count, const struct totals *t,
			  double slope)
{
	double excess = 0, limit = ratio_limit(t);

	for (size_t i = 0; i < count; i++) {
		double ratio = rows[i].own_dispersion / common_dispersion(&rows[i], t, slope);

		excess += (ratio < limit ? ratio : limit) - 1;
	}
	return excess / (double)count;
}

static double common_slope(const struct share_row *rows, size_t count, const struct totals *t)
{
	double low = 0, high = SLOPE_MAX;

	if (mean_excess(rows, count, t, 0) <= 0)
		return 0;
	for (int i = 0; i < BISECTIONS; i++) {
		double middle = (low + high) / 2;

		if (mean_excess(rows, count, t, middle) > 0)
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
}

/*
 * Returns the prior's degrees of freedom from the spread of the logarithms: the excess over chi
 * squared is the true variation of dispersions.
 */
static double prior_df(const struct share_row *rows, size_t count, const struct totals *t,
		       double slope)
{
	double mean = 0, squares = 0, excess, df;
	size_t used = 0;

	/* Skip rows without deviation: they have few samples, and no information on the spread. */
	for (size_t i = 0; i < count; i++) {
		double ratio = rows[i].own_dispersion / common_dispersion(&rows[i], t, slope);
		double before = mean;

		if (!(ratio > 0))
			continue;
		used++;
		mean += (log(ratio) - mean) / (double)used;
		squares += (log(ratio) - before) * (log(ratio) - mean);
	}
	if (used < 2)
		return 0;
	excess = squares / (double)(used - 1) - trigamma(t->df / 2);
	if (excess <= 0)
		return PRIOR_DF_MAX;
	df = 2 * trigamma_inverse(excess);
	return df < PRIOR_DF_MAX ? df : PRIOR_DF_MAX;
}

static void set_dispersion(struct share_row *row, const struct totals *t,
			   const struct share_prior *prior)
{
	double common = common_dispersion(row, t, prior->slope);
	double df = t->df + prior->df;

	row->dispersion = common;
	row->df = DISTRIBUTION_DF_MAX;
	if (t->df >= 1) {
		row->dispersion = (prior->df * common + t->df * row->own_dispersion) / df;
		row->df = df;
	}
	/* Never lower a row's own dispersion because the others are less noisy. */
	if (row->dispersion < row->own_dispersion)
		row->dispersion = row->own_dispersion;
	if (row->dispersion < 1)
		row->dispersion = 1;
}

static void test_row(struct share_row *row, const struct totals *t, double alpha)
{
	double inverse = 1 / t->weights[SIDE_A] + 1 / t->weights[SIDE_B];
	double error = sqrt(row->dispersion * unit_variance(row, t) * inverse);
	double half = student_quantile(1 - alpha / 2, row->df) * error;

	row->estimate = row->shares[SIDE_B] - row->shares[SIDE_A];
	row->low = row->estimate - half;
	row->high = row->estimate + half;
	row->p = error > 0 ? 2 * student_tail(fabs(row->estimate) / error, row->df) : 1;
}

void shares_compare(struct share_row *rows, size_t count, const struct share_runs *runs,
		    double noise, double alpha, struct share_prior *prior)
{
	struct totals t = totals_of(runs);

	for (size_t i = 0; i < count; i++) {
		for (int side = 0; side < SIDE_COUNT; side++)
			rows[i].shares[side] = sum(rows[i].weights[side], runs->counts[side]) /
					       t.weights[side];
		rows[i].own_dispersion = own_dispersion(&rows[i], runs, &t);
	}
	*prior = (struct share_prior){.slope = noise * noise};
	if (t.df >= 1 && count) {
		prior->slope = common_slope(rows, count, &t);
		prior->df = prior_df(rows, count, &t, prior->slope);
	}
	for (size_t i = 0; i < count; i++) {
		set_dispersion(&rows[i], &t, prior);
		test_row(&rows[i], &t, alpha);
	}
	shares_adjust(rows, count);
}

struct ranked_p {
	double p;
	size_t number;
};

ORDER(compare_p, struct ranked_p, COMPARE(a->p, b->p))

void holm_adjust(double *p, size_t count)
{
	_cleanup_free_ struct ranked_p *order = xcalloc(count + 1, sizeof(*order));
	double least = 0;

	for (size_t i = 0; i < count; i++)
		order[i] = (struct ranked_p){p[i], i};
	qsort(order, count, sizeof(*order), compare_p);
	for (size_t i = 0; i < count; i++) {
		double adjusted = order[i].p * (double)(count - i);

		if (adjusted > least)
			least = adjusted < 1 ? adjusted : 1;
		p[order[i].number] = least;
	}
}

void shares_adjust(struct share_row *rows, size_t count)
{
	_cleanup_free_ double *p = xcalloc(count + 1, sizeof(*p));

	for (size_t i = 0; i < count; i++)
		p[i] = rows[i].p;
	holm_adjust(p, count);
	for (size_t i = 0; i < count; i++)
		rows[i].adjusted_p = p[i];
}
