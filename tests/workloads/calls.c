/* SPDX-License-Identifier: MIT */
/*
 * calls: 600 ms of short functions of the C library, one of which is chosen at run time. Time
 * passes in the stubs that lead to them, too: what a stub reads is thrown out of the caches now and
 * then.
 */
#include <ctype.h>
#include <string.h>

#include "tests/workloads/burn.h"

#define TABLE_BYTES 512
#define CACHE_LINE 64

extern const char _GLOBAL_OFFSET_TABLE_[] __attribute__((visibility("hidden")));
static char text[8] = "x";

static inline void forget_table(void)
{
	for (int at = 0; at < TABLE_BYTES; at += CACHE_LINE) {
#ifdef __x86_64__
		__asm__ volatile("clflush %0" : : "m"(_GLOBAL_OFFSET_TABLE_[at]));
#else
		__asm__ volatile("dc civac, %0" : : "r"(&_GLOBAL_OFFSET_TABLE_[at]) : "memory");
#endif
	}
	__sync_synchronize();
}

static NOINLINE unsigned long call_often(void)
{
	unsigned long sum = 0;

	for (int i = 0; i < 10000; i++) {
		if (i % 64 == 0)
			forget_table();
		/*
		 * Calls the function even if the header has a macro, with a text that may have
		 * changed.
		 */
		sum += (unsigned long)(isalpha)(i & 127);
		__asm__ volatile("" : "+m"(text));
		if (i % 64 == 1)
			forget_table();
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
