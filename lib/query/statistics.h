/* SPDX-License-Identifier: MIT */
/* Statistics of runs: comparison of quantities, distributions, shares that differ. */
#pragma once

#include "lib/base/base.h"

/* Probability distributions for comparing runs, to nine digits or better. */

/* Degrees of freedom at which the normal distribution replaces Student's t. */
#define DISTRIBUTION_DF_MAX 1e7

/* Returns the probability that a standard normal variable is above z. */
double normal_tail(double z);
/* Returns the regularized incomplete beta function I_x(a, b); a, b > 0, 0 <= x <= 1. */
double incomplete_beta(double a, double b, double x);
/*
 * Returns the probability that Student's t with `df` > 0 degrees of freedom, any real number, is
 * above t.
 */
double student_tail(double t, double df);
/* Returns the quantile: the value exceeded with probability 1 - p; 0 < p < 1. */
double student_quantile(double p, double df);
/* Returns the second derivative of ln Γ(x); x > 0. */
double trigamma(double x);
/* Returns the inverse of trigamma(); y > 0. */
double trigamma_inverse(double y);

/*
 * Compares quantities of the runs of two sides: the relative increase in B, with confidence limits.
 * Values are positive, one per run.
 */

struct sample_values {
	const double *items; /* borrowed */
	size_t count;
};

/* Limits are infinite, and p = 1, if the error is unknown. */
struct interval {
	double estimate, low, high;
	double error; /* standard error, on the scale on which the interval is symmetric */
	double df; /* degrees of freedom, 0 if none */
	double p; /* two-sided p-value for no difference */
};

/*
 * Returns an interval with estimate, standard error, degrees of freedom, and limits with error
 * alpha.
 */
struct interval interval_of(double estimate, double error, double df, double alpha);
/* Returns the mean of ln b - ln a over pairs, by Student's t. Both counts are equal. */
struct interval interval_paired(struct sample_values a, struct sample_values b, double alpha);
/* Returns the difference of the means of ln b and ln a, by Welch's t. */
struct interval interval_unpaired(struct sample_values a, struct sample_values b, double alpha);
/*
 * Returns the ratio of the mean of b to the mean of a, minus 1. Values may be 0, but if all values
 * of a are, the estimate is infinite. Paired: the error follows from the residuals b - ratio * a.
 */
struct interval interval_of_ratio(struct sample_values a, struct sample_values b, bool is_paired,
				  double alpha);
/* Returns the difference of the means of b and a, which may be 0, by Student's or Welch's t. */
struct interval interval_of_difference(struct sample_values a, struct sample_values b,
				       bool is_paired, double alpha);
/*
 * Converts an interval of a difference of logarithms to an interval of the relative difference:
 * 0.05 for 5 % more.
 */
struct interval interval_from_log(struct interval log);
/*
 * Returns the number of runs per side, or of pairs, at which such an interval of `count` runs would
 * be narrower than `distance` to each side. Returns 0 for more than `max`.
 */
size_t interval_runs_wanted(const struct interval *i, size_t count, bool is_paired, double distance,
			    double alpha, size_t max);

/*
 * Tests which shares of samples differ between two sides of several runs each. A share's samples
 * vary between runs more than a binomial distribution predicts. The excess, its dispersion, is
 * estimated between the runs of a side. As a few runs give a poor estimate, it is shrunk towards
 * the trend of all rows of the comparison.
 */

enum side {
	SIDE_A,
	SIDE_B,
	SIDE_COUNT,
};

/* Weights of runs, common to all rows. Borrowed. */
struct share_runs {
	/* Weight of all samples of a run, by side and run; > 0. */
	const double *weights[SIDE_COUNT];
	size_t counts[SIDE_COUNT]; /* number of runs, at least 1 */
	double row_weight; /* minimum weight of a sample; 0 means 1 */
};

struct share_row {
	/* Weight of the row's samples, by side and run; borrowed. */
	const double *weights[SIDE_COUNT];
	double shares[SIDE_COUNT];
	double estimate; /* share in B minus share in A */
	double low, high; /* confidence limits with error alpha, for this row alone */
	double own_dispersion; /* dispersion estimated from this row alone; NAN: one run per side */
	double dispersion; /* dispersion used, at least 1 */
	double df;
	double p; /* two-sided p-value */
	double adjusted_p; /* p-value after Holm's correction over all rows */
};

struct share_prior {
	double slope; /* the common dispersion of a row is 1 + slope * its samples per run */
	double df; /* weight of the common dispersion, in degrees of freedom */
};

/*
 * Fills in all members that are not borrowed. With one run per side the dispersion is unknown; it
 * is then computed for runs whose times have a relative variation of `noise`. noise 0: only the
 * binomial error.
 */
void shares_compare(struct share_row *rows, size_t count, const struct share_runs *runs,
		    double noise, double alpha, struct share_prior *prior);
/* Applies Holm's adjustment for the number of rows. */
void holm_adjust(double *p, size_t count);
/* Does the same from p to adjusted_p of all rows. */
void shares_adjust(struct share_row *rows, size_t count);
