/* SPDX-License-Identifier: MIT */
/*
 * Tests which shares of samples differ between two sides of several runs each. A share's samples
 * vary between runs more than a binomial distribution predicts. The excess, its dispersion, is
 * estimated between the runs of a side. As a few runs give a poor estimate, it is shrunk towards
 * the trend of all rows of the comparison.
 */
#ifndef PROF_LIB_QUERY_SHARES_H
#define PROF_LIB_QUERY_SHARES_H

#include <stdbool.h>
#include <stddef.h>

enum side {
	SIDE_A,
	SIDE_B,
	SIDE_COUNT,
};

/* Weights of runs, common to all rows. Borrowed. */
struct share_runs {
	const double *weights[SIDE_COUNT]; /* of all samples of a run, by side and run; > 0 */
	size_t counts[SIDE_COUNT]; /* runs, 1 or more */
	double row_weight; /* minimum weight of a sample; 0: 1 */
};

struct share_row {
	const double *weights[SIDE_COUNT]; /* of the row's samples, likewise; borrowed */
	double shares[SIDE_COUNT];
	double estimate; /* share in B minus that in A */
	double low, high; /* limits with an error of alpha, for this row alone */
	double own_dispersion; /* estimated from this row alone; NAN: one run a side */
	double dispersion; /* the one used, 1 or more */
	double df;
	double p; /* two-sided */
	double adjusted_p; /* Holm's, over all rows */
};

struct share_prior {
	double slope; /* a row's common dispersion is 1 + slope * its samples a run */
	double df; /* weight of the common dispersion, in degrees of freedom */
};

/*
 * Fills in all members that are not borrowed. With one run a side the dispersion is unknown: then
 * it is that of runs whose times have a relative variation of `noise`; 0: only the binomial error.
 */
void shares_compare(struct share_row *rows, size_t count, const struct share_runs *runs,
		    double noise, double alpha, struct share_prior *prior);
/* Applies Holm's adjustment for the number of rows. */
void holm_adjust(double *p, size_t count);
/* Likewise: computes adjusted_p from p of all rows. */
void shares_adjust(struct share_row *rows, size_t count);

#endif
