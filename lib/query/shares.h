/* SPDX-License-Identifier: MIT */
/*
 * Shares of samples on two sides, each of several runs: which ones differ? A share's samples vary
 * between runs by more than a binomial distribution says. How much more, its dispersion, is
 * estimated between the runs of a side; as a few runs say little about it, it is raised towards
 * what the rows of the comparison have in common.
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

/* Weights of runs, which all rows have in common. Borrowed. */
struct share_runs {
	const double *weights[SIDE_COUNT]; /* of all samples of a run, by side and run; > 0 */
	size_t counts[SIDE_COUNT]; /* runs, 1 or more */
	double row_weight; /* least number of samples that one stands for; 0: 1 */
};

struct share_row {
	const double *weights[SIDE_COUNT]; /* of the row's samples, likewise; borrowed */
	double shares[SIDE_COUNT];
	double estimate; /* share in B minus that in A */
	double low, high; /* limits with an error of alpha, for this row alone */
	double own_dispersion; /* as estimated of this row; NAN: one run a side */
	double dispersion; /* as used, 1 or more */
	double df;
	double p; /* two-sided */
	double adjusted_p; /* Holm's, over all rows */
};

struct share_prior {
	double slope; /* a row's common dispersion is 1 + slope * its samples a run */
	double df; /* the weight of the common dispersion, in degrees of freedom */
};

/*
 * Fills in all that is not borrowed. With one run a side the dispersion is unknown: then it is that
 * of runs whose times vary by `noise` of themselves, 0: the binomial error alone.
 */
void shares_compare(struct share_row *rows, size_t count, const struct share_runs *runs,
		    double noise, double alpha, struct share_prior *prior);
/* Holm's adjustment for the number of rows. */
void holm_adjust(double *p, size_t count);
/* The same: p of all rows → adjusted_p. */
void shares_adjust(struct share_row *rows, size_t count);

#endif
