/* SPDX-License-Identifier: MIT */
/* rows ROUNDS: two threads of OpenMP have as many rows each, but the second all of the work. */
#include <stdlib.h>

#define ROWS 8

static volatile double sink;

static void solve_row(long rounds)
{
	double sum = 0;

	for (long i = 0; i < rounds; i++)
		sum += 1.0 / (1.0 + sum);
	sink = sum;
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 100000000;

#pragma omp parallel for schedule(static) num_threads(2)
	for (int row = 0; row < ROWS; row++)
		solve_row(row < ROWS / 2 ? 1 : rounds / ROWS);
	return 0;
}
