/* SPDX-License-Identifier: MIT */
/*
 * Compares quantities of the runs of two sides: the relative increase in B, with confidence limits.
 * Values are positive, one per run.
 */
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
