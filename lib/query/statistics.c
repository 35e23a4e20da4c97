/* SPDX-License-Identifier: MIT */
#include "lib/query/statistics.h"

#include <float.h>
#include <math.h>

/* Maximum number of steps: several times the root of the largest parameter. */
#define STEPS_MAX 20000
#define BISECTIONS_MAX 200
/* The asymptotic series of trigamma() is exact to double precision from here on. */
#define TRIGAMMA_SERIES_FROM 15

double normal_tail(double z)
{
	return 0.5 * erfc(z / M_SQRT2);
}

/* Lentz's continued fraction; converges fast for x < (a + 1) / (a + b + 2). */
static double beta_fraction(double a, double b, double x)
{
	double c = 1, d = 1 - (a + b) * x / (a + 1), result;

	d = fabs(d) < DBL_MIN ? 1 / DBL_MIN : 1 / d;
	result = d;
	for (int m = 1; m <= STEPS_MAX; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double step;

		d = 1 / (1 + even * d);
		c = 1 + even / c;
		result *= d * c;
		d = 1 / (1 + odd * d);
		c = 1 + odd / c;
		step = d * c;
		result *= step;
		if (fabs(step - 1) < DBL_EPSILON)
			break;
	}
	return result;
}

double incomplete_beta(double a, double b, double x)
{
	double front;

	if (x <= 0)
		return 0;
	if (x >= 1)
		return 1;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double student_tail(double t, double df)
{
	double tail;

	if (df >= DISTRIBUTION_DF_MAX)
		return normal_tail(t);
	/* Near 0, x = df / (df + t²) would lose the digits of t. */
	if (t * t < df)
		tail = 0.5 - 0.5 * incomplete_beta(0.5, df / 2, t * t / (df + t * t));
	else
		tail = 0.5 * incomplete_beta(df / 2, 0.5, df / (df + t * t));
	return t < 0 ? 1 - tail : tail;
}

/* Solves student_tail(t, df) = q for 0 < q <= 1/2 by bisection: slow but robust. */
static double solve_student_tail(double q, double df)
{
	double low = 0, high = 1;

	while (student_tail(high, df) > q && high < DBL_MAX / 4)
		high *= 2;
	for (int i = 0; i < BISECTIONS_MAX; i++) {
		double middle = low + (high - low) / 2;

		if (middle <= low || middle >= high)
			break;
		if (student_tail(middle, df) > q)
			low = middle;
		else
			high = middle;
	}
	return low + (high - low) / 2;
}

double student_quantile(double p, double df)
{
	return p < 0.5 ? -solve_student_tail(p, df) : solve_student_tail(1 - p, df);
}

double trigamma(double x)
{
	double sum = 0, y;

	for (; x < TRIGAMMA_SERIES_FROM; x++)
		sum += 1 / (x * x);
	y = 1 / (x * x);
	/* Bernoulli numbers: 1/6, -1/30, 1/42, -1/30, 5/66. */
	return sum + 1 / x + y / 2 +
	       y / x * (1. / 6 + y * (-1. / 30 + y * (1. / 42 + y * (-1. / 30 + y * 5. / 66))));
}

double trigamma_inverse(double y)
{
	double low = 0, high = 1;

	while (trigamma(high) > y && high < DBL_MAX / 4)
		high *= 2;
	for (int i = 0; i < BISECTIONS_MAX; i++) {
		double middle = low + (high - low) / 2;

		if (middle <= low || middle >= high)
			break;
		if (trigamma(middle) > y)
			low = middle;
		else
			high = middle;
	}
	return low + (high - low) / 2;
}

struct moments {
	double mean;
	double variance; /* variance of the mean; NAN for a single value */
};

struct interval interval_of(double estimate, double error, double df, double alpha)
{
	struct interval i = {
		.estimate = estimate,
		.low = -INFINITY,
		.high = INFINITY,
		.error = error,
		.df = df,
		.p = 1,
	};
	double half;

	if (!(df > 0) || !isfinite(error) || !isfinite(estimate)) {
		i.df = 0;
		i.error = NAN;
		return i;
	}
	half = student_quantile(1 - alpha / 2, df) * error;
	i.low = estimate - half;
	i.high = estimate + half;
	if (error > 0)
		i.p = 2 * student_tail(fabs(estimate) / error, df);
	else
		i.p = estimate == 0 ? 1 : 0;
	return i;
}

static double as_it_is(double value)
{
	return value;
}

/* Moments of the values, or of their logarithms. */
static struct moments moments_of(struct sample_values values, double (*scale)(double))
{
	struct moments m = {.variance = NAN};
	double squares = 0;

	for (size_t i = 0; i < values.count; i++)
		m.mean += scale(values.items[i]) / (double)values.count;
	for (size_t i = 0; i < values.count; i++)
		squares += pow(scale(values.items[i]) - m.mean, 2);
	if (values.count > 1)
		m.variance = squares / (double)(values.count - 1) / (double)values.count;
	return m;
}

struct interval interval_paired(struct sample_values a, struct sample_values b, double alpha)
{
	double mean = 0, squares = 0, count = (double)a.count;

	for (size_t i = 0; i < a.count; i++)
		mean += log(b.items[i] / a.items[i]) / count;
	for (size_t i = 0; i < a.count; i++)
		squares += pow(log(b.items[i] / a.items[i]) - mean, 2);
	return interval_of(mean, sqrt(squares / (count - 1) / count), count - 1, alpha);
}

/* Welch's degrees of freedom; both variances are of means. */
static double welch_df(double a, size_t a_count, double b, size_t b_count)
{
	double sum = a + b;

	/* Without variance, use the maximum. */
	if (sum == 0)
		return (double)(a_count + b_count) - 2;
	return sum * sum / (a * a / ((double)a_count - 1) + b * b / ((double)b_count - 1));
}

struct interval interval_unpaired(struct sample_values a, struct sample_values b, double alpha)
{
	struct moments x = moments_of(a, log), y = moments_of(b, log);

	return interval_of(y.mean - x.mean, sqrt(x.variance + y.variance),
			   welch_df(x.variance, a.count, y.variance, b.count), alpha);
}

/* The variance of the mean of b - ratio * a over pairs. */
static double residual_variance(struct sample_values a, struct sample_values b, double ratio)
{
	double mean = 0, squares = 0, count = (double)a.count;

	for (size_t i = 0; i < a.count; i++)
		mean += (b.items[i] - ratio * a.items[i]) / count;
	for (size_t i = 0; i < a.count; i++)
		squares += pow(b.items[i] - ratio * a.items[i] - mean, 2);
	return squares / (count - 1) / count;
}

struct interval interval_of_ratio(struct sample_values a, struct sample_values b, bool is_paired,
				  double alpha)
{
	struct moments x = moments_of(a, as_it_is), y = moments_of(b, as_it_is);
	double ratio = y.mean / x.mean, scaled = ratio * ratio * x.variance;

	if (!(x.mean > 0))
		return interval_of(y.mean > 0 ? INFINITY : 0, NAN, 0, alpha);
	if (is_paired)
		return interval_of(ratio - 1, sqrt(residual_variance(a, b, ratio)) / x.mean,
				   (double)a.count - 1, alpha);
	return interval_of(ratio - 1, sqrt(scaled + y.variance) / x.mean,
			   welch_df(scaled, a.count, y.variance, b.count), alpha);
}

struct interval interval_of_difference(struct sample_values a, struct sample_values b,
				       bool is_paired, double alpha)
{
	struct moments x = moments_of(a, as_it_is), y = moments_of(b, as_it_is);

	if (is_paired)
		return interval_of(y.mean - x.mean, sqrt(residual_variance(a, b, 1)),
				   (double)a.count - 1, alpha);
	return interval_of(y.mean - x.mean, sqrt(x.variance + y.variance),
			   welch_df(x.variance, a.count, y.variance, b.count), alpha);
}

struct interval interval_from_log(struct interval log)
{
	log.estimate = expm1(log.estimate);
	log.low = expm1(log.low);
	log.high = expm1(log.high);
	return log;
}

static double half_width(double deviation, size_t count, bool is_paired, double alpha)
{
	double df = (double)(is_paired ? count - 1 : 2 * (count - 1));

	return student_quantile(1 - alpha / 2, df) * deviation / sqrt((double)count);
}

size_t interval_runs_wanted(const struct interval *i, size_t count, bool is_paired, double distance,
			    double alpha, size_t max)
{
	double deviation = i->error * sqrt((double)count);
	size_t too_few = count, enough = max;

	if (!(i->df > 0) || !(distance > 0) || max <= count ||
	    half_width(deviation, max, is_paired, alpha) >= distance)
		return 0;
	while (enough - too_few > 1) {
		size_t middle = too_few + (enough - too_few) / 2;

		if (half_width(deviation, middle, is_paired, alpha) < distance)
			enough = middle;
		else
			too_few = middle;
	}
	return enough;
}

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
