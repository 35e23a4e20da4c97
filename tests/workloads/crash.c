/* SPDX-License-Identifier: MIT */
/* crash: 100 ms in before_crash(), then a write to an unmapped address. */
#include <sys/resource.h>

#include "tests/workloads/burn.h"

static NOINLINE void before_crash(void)
{
	burn_ms(100);
}

int main(void)
{
	struct rlimit none = {0, 0};
	int *volatile nowhere = (int *)16;

	setrlimit(RLIMIT_CORE, &none);
	before_crash();
	*nowhere = 1;
	return 0;
}
