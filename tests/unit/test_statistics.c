/* SPDX-License-Identifier: MIT */
/* Distributions, intervals and the comparison of shares give what scipy gives. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "lib/query/statistics.h"
#include "tests/unit/statistics_reference.h"
#include "tests/unit/test.h"

#define ALPHA 0.05
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define VALUES(array) ((struct sample_values){(array)[0], COUNT((array)[0])})

/* To six digits; next to 0, as far from it. */
static void assert_close(double value, double wanted)
{
	double error = fabs(value - wanted);

	if (!(error <= 1e-7 * fabs(wanted) || error <= 1e-13))
		fail_msg("%.12g is not %.12g", value, wanted);
}

TEST(distributions_are_those_of_scipy)
{
	for (size_t i = 0; i < COUNT(reference_normal); i++) {
		assert_close(student_quantile(reference_normal[i][0], 1e9), reference_normal[i][1]);
		assert_close(normal_tail(reference_normal[i][1]), 1 - reference_normal[i][0]);
	}
	for (size_t i = 0; i < COUNT(reference_beta); i++) {
		const double *row = reference_beta[i];

		assert_close(incomplete_beta(row[0], row[1], row[2]), row[3]);
	}
	for (size_t i = 0; i < COUNT(reference_student_tail); i++) {
		const double *row = reference_student_tail[i];

		assert_close(student_tail(row[0], row[1]), row[2]);
	}
	for (size_t i = 0; i < COUNT(reference_student_quantile); i++) {
		const double *row = reference_student_quantile[i];

		assert_close(student_quantile(row[0], row[1]), row[2]);
	}
	for (size_t i = 0; i < COUNT(reference_trigamma); i++) {
		assert_close(trigamma(reference_trigamma[i][0]), reference_trigamma[i][1]);
		assert_close(trigamma_inverse(reference_trigamma[i][1]), reference_trigamma[i][0]);
	}
}

TEST(many_degrees_of_freedom_are_the_normal_distribution)
{
	assert_close(student_quantile(0.975, 1e9), 1.959963984540054);
	assert_true(fabs(student_quantile(0.975, DISTRIBUTION_DF_MAX / 2) - 1.959963984540054) <
		    1e-5);
	assert_true(incomplete_beta(2, 3, 0) == 0 && incomplete_beta(2, 3, 1) == 1);
}

static void assert_interval(struct interval i, const double *wanted)
{
	assert_close(i.estimate, wanted[0]);
	assert_close(i.low, wanted[1]);
	assert_close(i.high, wanted[2]);
	assert_close(i.df, wanted[3]);
	assert_close(i.p, wanted[4]);
}

TEST(intervals_are_those_of_scipy)
{
	assert_interval(interval_paired(VALUES(values_paired_a), VALUES(values_paired_b), ALPHA),
			reference_paired[0]);
	assert_interval(
		interval_unpaired(VALUES(values_unpaired_a), VALUES(values_unpaired_b), ALPHA),
		reference_unpaired[0]);
}

TEST(one_run_a_side_says_nothing_of_the_error)
{
	static const double a[] = {100}, b[] = {110};
	struct sample_values one = {a, 1}, other = {b, 1};
	struct interval intervals[] = {
		interval_paired(one, other, ALPHA),
		interval_unpaired(one, other, ALPHA),
		interval_of_ratio(one, other, true, ALPHA),
		interval_of_ratio(one, other, false, ALPHA),
	};

	for (size_t i = 0; i < COUNT(intervals); i++) {
		assert_true(isinf(intervals[i].low) && isinf(intervals[i].high));
		assert_true(intervals[i].p == 1 && intervals[i].df == 0);
		assert_int_equal(interval_runs_wanted(&intervals[i], 1, true, 0.01, ALPHA, 1000),
				 0);
	}
	assert_close(interval_from_log(intervals[0]).estimate, 0.1);
	assert_close(intervals[2].estimate, 0.1);
}

TEST(runs_that_are_all_alike_have_no_error)
{
	static const double a[] = {100, 100, 100}, b[] = {110, 110, 110};
	struct sample_values one = {a, 3}, other = {b, 3};
	struct interval same = interval_unpaired(one, one, ALPHA);
	struct interval slower = interval_of_ratio(one, other, false, ALPHA);

	assert_true(same.p == 1 && same.low == 0 && same.high == 0);
	assert_true(slower.p == 0);
	assert_close(slower.low, 0.1);
}

TEST(ratios_take_runs_without_any)
{
	static const double none[] = {0, 0, 0}, some[] = {0, 4, 5};
	struct sample_values zero = {none, 3}, value = {some, 3};
	struct interval new = interval_of_ratio(zero, value, true, ALPHA);
	struct interval gone = interval_of_ratio(value, zero, true, ALPHA);

	assert_true(isinf(new.estimate) && new.p == 1);
	assert_close(gone.estimate, -1);
	assert_true(interval_of_ratio(zero, zero, false, ALPHA).estimate == 0);
}

/* Ratio, by the residuals of pairs, and by Welch, worked out by hand. */
TEST(ratios_know_their_error)
{
	static const double a[] = {10, 12, 14}, b[] = {12, 12, 18};
	struct sample_values x = {a, 3}, y = {b, 3};
	struct interval paired = interval_of_ratio(x, y, true, ALPHA);
	struct interval unpaired = interval_of_ratio(x, y, false, ALPHA);
	double ratio = 14. / 12, squares = 0;

	for (size_t i = 0; i < 3; i++)
		squares += (b[i] - ratio * a[i]) * (b[i] - ratio * a[i]);
	assert_close(paired.estimate, ratio - 1);
	assert_close(paired.error, sqrt(squares / 2 / 3) / 12);
	assert_close(unpaired.error, sqrt(ratio * ratio * 4 / 3 + 4) / 12);
	assert_close(paired.high - paired.estimate, 4.30265272975 * paired.error);
}

TEST(more_runs_decide)
{
	struct interval i = interval_of(0.03, 0.01, 9, ALPHA);
	size_t wanted = interval_runs_wanted(&i, 10, true, 0.01, ALPHA, 10000);
	double deviation = 0.01 * sqrt(10);

	assert_true(student_quantile(0.975, (double)wanted - 1) * deviation / sqrt((double)wanted) <
		    0.01);
	assert_true(student_quantile(0.975, (double)wanted - 2) * deviation /
			    sqrt((double)wanted - 1) >=
		    0.01);
	assert_int_equal(interval_runs_wanted(&i, 10, true, 1e-6, ALPHA, 10000), 0);
	assert_int_equal(interval_runs_wanted(&i, 10, true, 0, ALPHA, 10000), 0);
}

static struct share_runs shares_of(struct share_row *rows, size_t count)
{
	struct share_runs runs = {{share_weights[0], share_weights[0] + SHARE_RUNS_A},
				  {SHARE_RUNS_A, SHARE_RUNS_B},
				  1};

	for (size_t i = 0; i < count; i++) {
		rows[i].weights[SIDE_A] = share_weights[i + 1];
		rows[i].weights[SIDE_B] = share_weights[i + 1] + SHARE_RUNS_A;
	}
	return runs;
}

#define SHARE_ROWS COUNT(reference_shares)

TEST(shares_are_compared_as_by_scipy)
{
	struct share_row rows[SHARE_ROWS] = {0};
	struct share_runs runs = shares_of(rows, SHARE_ROWS);
	struct share_prior prior;

	shares_compare(rows, SHARE_ROWS, &runs, 0, ALPHA, &prior);
	assert_close(prior.slope, reference_prior[0][0]);
	assert_close(prior.df, reference_prior[0][1]);
	assert_true(prior.slope > 0);
	for (size_t i = 0; i < SHARE_ROWS; i++) {
		const double *wanted = reference_shares[i];

		assert_close(rows[i].estimate, wanted[0]);
		assert_close(rows[i].low, wanted[1]);
		assert_close(rows[i].high, wanted[2]);
		assert_close(rows[i].own_dispersion, wanted[3]);
		assert_close(rows[i].dispersion, wanted[4]);
		assert_close(rows[i].p, wanted[5]);
		assert_close(rows[i].adjusted_p, wanted[6]);
	}
}

/* The binomial test of two shares, and what an assumed noise adds. */
TEST(one_run_a_side_has_the_binomial_error)
{
	static const double all[] = {1000, 1000}, row[] = {200, 240};
	struct share_runs runs = {{all, all + 1}, {1, 1}, 1};
	struct share_row rows[] = {{.weights = {row, row + 1}}};
	struct share_prior prior;
	double unit = 0.22 * 0.78;

	shares_compare(rows, 1, &runs, 0, ALPHA, &prior);
	assert_true(isnan(rows[0].own_dispersion) && rows[0].dispersion == 1);
	assert_close(rows[0].p, 2 * normal_tail(0.04 / sqrt(unit * 2 / 1000)));
	shares_compare(rows, 1, &runs, 0.1, ALPHA, &prior);
	assert_close(rows[0].dispersion, 1 + 0.01 * 1000 * unit);
	/* A quarter of the samples. */
	runs.row_weight = 4;
	shares_compare(rows, 1, &runs, 0, ALPHA, &prior);
	assert_close(rows[0].p, 2 * normal_tail(0.04 / sqrt(unit * 2 / 250)));
	shares_compare(rows, 1, &runs, 0.1, ALPHA, &prior);
	assert_close(rows[0].dispersion, 1 + 0.01 * 250 * unit);
}

/* A row that has everything, or nothing, of all samples differs in nothing. */
TEST(a_share_of_all_is_no_difference)
{
	static const double all[] = {1000, 900, 1100, 950}, none[] = {0, 0, 0, 0};
	struct share_runs runs = {{all, all + 2}, {2, 2}, 1};
	struct share_row rows[] = {{.weights = {all, all + 2}}, {.weights = {none, none + 2}}};
	struct share_prior prior;

	shares_compare(rows, 2, &runs, 0, ALPHA, &prior);
	for (size_t i = 0; i < 2; i++)
		assert_true(rows[i].p == 1 && rows[i].adjusted_p == 1 && rows[i].estimate == 0);
	shares_compare(rows, 0, &runs, 0, ALPHA, &prior);
}
