/* SPDX-License-Identifier: MIT */
/* Two units whose code is small, inlined, and marked with symbols. */
#pragma once

/* A compiler may copy the code around it; the first copy gets the mark. */
#define MARK(name) __asm__ volatile(".ifndef " #name "\n.globl " #name "\n" #name ":\n.endif\nnop")
#define INLINED static inline __attribute__((always_inline))
#define FUNCTION __attribute__((noinline, used))

INLINED void shared_inner(volatile int *n)
{
	*n += 3;
}
