/* SPDX-License-Identifier: MIT */
/* Probability distributions: what a comparison of runs needs, to nine digits or better. */
#ifndef PROF_LIB_QUERY_DISTRIBUTIONS_H
#define PROF_LIB_QUERY_DISTRIBUTIONS_H

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

#endif
