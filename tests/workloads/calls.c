/* SPDX-License-Identifier: MIT */
/* calls: 600 ms of short functions of the C library, one of which is chosen at run time. */
#include <ctype.h>
#include <string.h>

#include "tests/workloads/burn.h"

static char text[8] = "x";

static NOINLINE unsigned long call_often(void)
{
	unsigned long sum = 0;

	for (int i = 0; i < 100000; i++) {
		/*
		 * Calls the function even if the header has a macro, with a text that may have
		 * changed.
		 */
		sum += (unsigned long)(isalpha)(i & 127);
		__asm__ volatile("" : "+m"(text));
		sum += strlen(text);
	}
	return sum;
}

int main(void)
{
	uint64_t end = thread_cpu_ns() + 600000000;
	unsigned long sum = 0;

	while (thread_cpu_ns() < end)
		sum += call_often();
	return sum == 1;
}
