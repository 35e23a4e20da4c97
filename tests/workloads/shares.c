/* SPDX-License-Identifier: MIT */
/* shares [SECONDS]: 60 % of its CPU time in sixty(), 30 % in thirty(), 10 % in ten(). */
#include <stdlib.h>

#include "tests/workloads/burn.h"

static NOINLINE void sixty(double ms)
{
	burn_ms(ms * 0.6);
}

static NOINLINE void thirty(double ms)
{
	burn_ms(ms * 0.3);
}

static NOINLINE void ten(double ms)
{
	burn_ms(ms * 0.1);
}

int main(int argc, char **argv)
{
	double ms = argc > 1 ? strtod(argv[1], NULL) * 1000 : 2000;
	/* Many short turns, which are not multiples of a timer tick. */
	int rounds = (int)(ms / 37.3) + 1;

	for (int i = 0; i < rounds; i++) {
		sixty(ms / rounds);
		thirty(ms / rounds);
		ten(ms / rounds);
	}
	return 0;
}
