/* SPDX-License-Identifier: MIT */
/*
 * Uses an exact amount of CPU time, by the thread's own clock, so that neither other processes nor
 * slow machines change the shares. Inlined, so that the caller's function gets the time.
 */
#pragma once

#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>

/* Prevents inlining, copying, and merging with equal functions. */
#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone, no_icf))
#endif
#define ALWAYS_INLINE inline __attribute__((always_inline))

/*
 * Makes a system call directly from the function: wrappers of libc have no frame, so a frame
 * pointer walk would miss their caller.
 */
static ALWAYS_INLINE long raw_syscall(long number, long a, long b, long c)
{
#if defined(__x86_64__)
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return result;
#elif defined(__aarch64__)
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x8 __asm__("x8") = number;

	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x1), "r"(x2), "r"(x8) : "memory");
	return x0;
#else
#error "raw_syscall() is not written for this architecture"
#endif
}

static ALWAYS_INLINE uint64_t thread_cpu_ns(void)
{
	struct timespec t = {0};

	raw_syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, (long)&t, 0);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/*
 * Does some 20 µs of arithmetic, so that reading the clock, a system call, costs little in
 * comparison.
 */
static ALWAYS_INLINE void burn_a_little(void)
{
	uint64_t x = 88172645463325252;

	for (int i = 0; i < 8000; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		/* Makes the compiler believe that the value is used. */
		__asm__ volatile("" : "+r"(x));
	}
}

static ALWAYS_INLINE void burn_ms(double ms)
{
	uint64_t end = thread_cpu_ns() + (uint64_t)(ms * 1e6);

	while (thread_cpu_ns() < end)
		burn_a_little();
}
