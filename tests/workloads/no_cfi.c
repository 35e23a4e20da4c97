/* SPDX-License-Identifier: MIT */
/*
 * no_cfi: 300 ms in without_cfi(), which has no CFI and uses the frame pointer as a counter, called
 * by calling(). Only a scan of the stack finds the caller: sp moves by a register, so the
 * instructions do not tell the frame. It meets an address before: that behind the call in
 * calls_itself(), which cannot have led to without_cfi().
 */
#include "tests/workloads/burn.h"

void without_cfi(unsigned long rounds);

#if defined(__x86_64__)
__asm__(".text\n"
	"calls_itself:\n"
	"	.cfi_startproc\n"
	"	push $0\n"
	"	.cfi_def_cfa_offset 16\n"
	"	call calls_itself\n"
	"behind_call:\n"
	"	.fill 256, 1, 0x90\n"
	"	.cfi_endproc\n"
	".globl without_cfi\n"
	".type without_cfi, @function\n"
	"without_cfi:\n"
	"	push %rbp\n"
	"	mov $24, %ecx\n"
	"	lea behind_call(%rip), %rax\n"
	"	sub %rcx, %rsp\n"
	"	mov %rax, 16(%rsp)\n"
	"	movq $2, 8(%rsp)\n"
	"	movq $3, (%rsp)\n"
	"	mov %rdi, %rbp\n"
	"1:	dec %rbp\n"
	"	jnz 1b\n"
	"	add %rcx, %rsp\n"
	"	pop %rbp\n"
	"	ret\n"
	".size without_cfi, . - without_cfi\n");
#elif defined(__aarch64__)
__asm__(".text\n"
	"calls_itself:\n"
	"	.cfi_startproc\n"
	"	stp x29, x30, [sp, #-16]!\n"
	"	.cfi_def_cfa_offset 16\n"
	"	.cfi_offset 29, -16\n"
	"	.cfi_offset 30, -8\n"
	"	bl calls_itself\n"
	"behind_call:\n"
	"	.fill 64, 4, 0xd503201f\n"
	"	.cfi_endproc\n"
	".globl without_cfi\n"
	".type without_cfi, %function\n"
	"without_cfi:\n"
	"	adr x9, behind_call\n"
	"	stp x9, x30, [sp, #-32]!\n"
	"	stp x29, xzr, [sp, #16]\n"
	"	mov x29, x0\n"
	"	mov x30, xzr\n"
	"1:	subs x29, x29, #1\n"
	"	b.ne 1b\n"
	"	ldr x29, [sp, #16]\n"
	"	ldr x30, [sp, #8]\n"
	"	add sp, sp, #32\n"
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
