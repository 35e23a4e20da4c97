/* SPDX-License-Identifier: MIT */
/*
 * many_rows: 300 ms in burning(). The program has more call frame information than a shard of
 * unwind tables holds, for a function that nobody calls.
 */
#include "tests/workloads/burn.h"

#if defined(__x86_64__) || defined(__aarch64__)
__asm__(".text\n"
	".type many_rows, %function\n"
	"many_rows:\n"
	".cfi_startproc\n"
	".rept 550000\n"
	"nop\n"
	".cfi_adjust_cfa_offset 16\n"
	"nop\n"
	".cfi_adjust_cfa_offset -16\n"
	".endr\n"
	"ret\n"
	".cfi_endproc\n"
	".size many_rows, . - many_rows\n");
#else
#error "many_rows() is not written for this architecture"
#endif

static NOINLINE void burning(void)
{
	burn_ms(300);
}

int main(void)
{
	burning();
	return 0;
}
