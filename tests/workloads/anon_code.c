/* SPDX-License-Identifier: MIT */
/*
 * anon_code SECONDS: makes code in anonymous memory, prints "PID ADDRESS SIZE" (in hexadecimal,
 * except the pid), and after a line of input runs the code for that much CPU time.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/workloads/burn.h"

#define PAGE 4096
#define ROUNDS 100000

/* void count_down(unsigned long n) */
#if defined(__x86_64__)
static const uint8_t code[] = {0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3};
#elif defined(__aarch64__)
static const uint32_t code[] = {0xf1000400, 0x54ffffe1, 0xd65f03c0};
#else
#error "anon_code is not written for this architecture"
#endif

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? strtod(argv[1], NULL) : 1;
	void *memory = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*count_down)(unsigned long) = (void (*)(unsigned long))(uintptr_t)memory;
	uint64_t end;

	if (memory == MAP_FAILED)
		return 1;
	memcpy(memory, code, sizeof(code));
	if (mprotect(memory, PAGE, PROT_READ | PROT_EXEC))
		return 1;
	__builtin___clear_cache(memory, (char *)memory + sizeof(code));
	printf("%d %" PRIxPTR " %x\n", getpid(), (uintptr_t)memory, PAGE);
	fflush(stdout);
	if (getchar() == EOF)
		return 1;
	end = thread_cpu_ns() + (uint64_t)(seconds * 1e9);
	while (thread_cpu_ns() < end)
		count_down(ROUNDS);
	return 0;
}
