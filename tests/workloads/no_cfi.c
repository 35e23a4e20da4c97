/* SPDX-License-Identifier: MIT */
/*
 * no_cfi: 300 ms in without_cfi(), which has no CFI and uses the frame pointer as a counter, called
 * by calling(). Only a scan of the stack finds the caller, and finds it at once, as no other
 * address comes before.
 */
#include "tests/workloads/burn.h"

void without_cfi(unsigned long rounds);

#if defined(__x86_64__)
__asm__(".text\n"
	".globl without_cfi\n"
	".type without_cfi, @function\n"
	"without_cfi:\n"
	"	push %rbp\n"
	"	push $1\n"
	"	push $2\n"
	"	push $3\n"
	"	mov %rdi, %rbp\n"
	"1:	dec %rbp\n"
	"	jnz 1b\n"
	"	add $24, %rsp\n"
	"	pop %rbp\n"
	"	ret\n"
	".size without_cfi, . - without_cfi\n");
#elif defined(__aarch64__)
__asm__(".text\n"
	".globl without_cfi\n"
	".type without_cfi, %function\n"
	"without_cfi:\n"
	"	stp x29, x30, [sp, #-32]!\n"
	"	stp xzr, xzr, [sp, #16]\n"
	"	mov x29, x0\n"
	"	mov x30, xzr\n"
	"1:	subs x29, x29, #1\n"
	"	b.ne 1b\n"
	"	ldp x29, x30, [sp], #32\n"
	"	ret\n"
	".size without_cfi, . - without_cfi\n");
#else
#error "without_cfi() is not written for this architecture"
#endif

static NOINLINE int calling(void)
{
	uint64_t end = thread_cpu_ns() + 300000000;
	int calls = 0;

	while (thread_cpu_ns() < end) {
		without_cfi(1000000);
		calls++;
	}
	return calls;
}

int main(void)
{
	return calling() == 0;
}
