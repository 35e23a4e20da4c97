/* SPDX-License-Identifier: MIT */
/*
 * Compares quantities of the runs of two sides: how much larger they are in B, with limits for the
 * error. Values are positive, one a run.
 */
#ifndef PROF_LIB_QUERY_INTERVALS_H
#define PROF_LIB_QUERY_INTERVALS_H

#include <stdbool.h>
#include <stddef.h>

/* Probability distributions: what a comparison of runs needs, to nine digits or better. */

/* Degrees of freedom from which on Student's t is taken as the normal distribution. */
#define DISTRIBUTION_DF_MAX 1e7

/* The probability of a standard normal variable above z. */
double normal_tail(double z);
/* The regularized incomplete beta function I_x(a, b); a, b > 0, 0 <= x <= 1. */
double incomplete_beta(double a, double b, double x);
/* The probability of Student's t with `df` > 0 degrees of freedom, any real number, above t. */
double student_tail(double t, double df);
/* The value that it exceeds with probability 1 - p; 0 < p < 1. */
double student_quantile(double p, double df);
/* The second derivative of ln Γ(x); x > 0. */
double trigamma(double x);
/* The x with that trigamma(x); y > 0. */
double trigamma_inverse(double y);

struct sample_values {
	const double *items; /* borrowed */
	size_t count;
};

/* Infinite limits, and p = 1, where nothing can be said of the error. */
struct interval {
	double estimate, low, high;
	double error; /* standard error, of the scale on which the interval is symmetric */
	double df; /* degrees of freedom, 0 if none */
	double p; /* two-sided, of no difference */
};

/* Estimate, standard error and degrees of freedom, completed: limits with an error of alpha. */
struct interval interval_of(double estimate, double error, double df, double alpha);
/* The mean of ln b - ln a over pairs, by Student's t. Counts are equal. */
struct interval interval_paired(struct sample_values a, struct sample_values b, double alpha);
/* The difference of the means of ln b and ln a, by Welch's t. */
struct interval interval_unpaired(struct sample_values a, struct sample_values b, double alpha);
/*
 * The ratio of the mean of b to that of a, minus 1. Values may be 0, but not all of a: then the
 * estimate is infinite. Paired: the residuals b - ratio * a of each pair tell the error.
 */
struct interval interval_of_ratio(struct sample_values a, struct sample_values b, bool is_paired,
				  double alpha);
/* The difference of the means of b and a, which may be 0, by Student's or Welch's t. */
struct interval interval_of_difference(struct sample_values a, struct sample_values b,
				       bool is_paired, double alpha);
/* An interval of a difference of logarithms, as one of the share: 0.05 for 5 % more. */
struct interval interval_from_log(struct interval log);
/*
 * The number of runs, or pairs, at which an interval like this of `count` ones, unpaired: a side,
 * would be narrower than `distance` to each side. 0: more than `max`.
 */
size_t interval_runs_wanted(const struct interval *i, size_t count, bool is_paired, double distance,
			    double alpha, size_t max);

#endif
