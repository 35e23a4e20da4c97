/* SPDX-License-Identifier: MIT */
/*
 * Tests which shares of samples differ between two sides of several runs each. A share's samples
 * vary between runs more than a binomial distribution predicts. The excess, its dispersion, is
 * estimated between the runs of a side. As a few runs give a poor estimate, it is shrunk towards
 * the trend of all rows of the comparison.
 */
#pragma once

#include "lib/base/base.h"

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
