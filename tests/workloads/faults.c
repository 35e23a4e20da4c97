/* SPDX-License-Identifier: MIT */
/* faults: 400 ms, nearly all in the kernel, by page faults in touch_pages(). */
#include <sys/mman.h>

#include "tests/workloads/burn.h"

#define SIZE (4u << 20)
#define PAGE 4096

static NOINLINE void touch_pages(volatile char *memory)
{
	for (unsigned int at = 0; at < SIZE; at += PAGE)
		memory[at] = 1;
}

int main(void)
{
	uint64_t end = thread_cpu_ns() + 400000000;

	while (thread_cpu_ns() < end) {
		void *memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				    -1, 0);

		if (memory == MAP_FAILED)
			return 1;
		madvise(memory, SIZE, MADV_NOHUGEPAGE);
		touch_pages(memory);
		munmap(memory, SIZE);
	}
	return 0;
}
