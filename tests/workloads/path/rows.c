/* SPDX-License-Identifier: MIT */
/* rows: two OpenMP threads that share rows evenly, of which the second half takes longer. */
#include "tests/workloads/burn.h"

#define ROWS 40
#define ROUNDS 5

static NOINLINE void light_row(void)
{
	burn_ms(0.5);
}

static NOINLINE void heavy_row(void)
{
	burn_ms(4);
}

static NOINLINE void add_up(void)
{
	burn_ms(20);
}

int main(void)
{
	for (int round = 0; round < ROUNDS; round++) {
#pragma omp parallel for schedule(static) num_threads(2)
		for (int row = 0; row < ROWS; row++) {
			if (row < ROWS / 2)
				light_row();
			else
				heavy_row();
		}
		add_up();
	}
	return 0;
}
