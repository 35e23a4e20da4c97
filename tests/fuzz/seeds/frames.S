/* SPDX-License-Identifier: MIT */
/* Call frame information of every shape that compilers, linkers and assembler code are known for. */
	.text
	.globl _start
_start:
	.cfi_startproc
	.cfi_undefined %rip
	nop
	.cfi_endproc

pushes:
	.cfi_startproc
	push %rbp
	.cfi_adjust_cfa_offset 8
	.cfi_offset %rbp, -16
	push %rbx
	.cfi_adjust_cfa_offset 8
	.cfi_offset %rbx, -24
	push %r12
	.cfi_adjust_cfa_offset 8
	.cfi_offset %r12, -32
	.cfi_remember_state
	pop %r12
	.cfi_restore %r12
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_restore_state
	.skip 300
	ret
	.cfi_endproc

frame_pointer:
	.cfi_startproc
	push %rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	mov %rsp, %rbp
	.cfi_def_cfa_register %rbp
	.skip 3000
	leave
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc

realigned:
	.cfi_startproc
	lea 8(%rsp), %r10
	.cfi_def_cfa %r10, 0
	and $-32, %rsp
	push -8(%r10)
	push %rbp
	.cfi_escape 0x10, 6, 2, 0x76, 0
	mov %rsp, %rbp
	push %r10
	.cfi_escape 0x0f, 3, 0x76, 0x78, 0x06
	push %rbx
	.cfi_escape 0x10, 3, 2, 0x76, 0x70
	ret
	.cfi_endproc

signal_frame:
	.cfi_startproc
	.cfi_signal_frame
	.cfi_escape 0x0f, 4, 0x77, 0xa0, 1, 0x06
	.cfi_escape 0x10, 7, 3, 0x77, 0xa0, 1
	.cfi_escape 0x10, 16, 3, 0x77, 0xa8, 1
	.cfi_escape 0x10, 6, 3, 0x77, 0xf8, 0
	.cfi_escape 0x10, 3, 3, 0x77, 0x80, 1
	mov $15, %eax
	syscall
	.cfi_endproc

plt:
	.cfi_startproc
	.cfi_escape 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22
	.skip 32
	.cfi_endproc

in_a_register:
	.cfi_startproc
	pop %rdi
	.cfi_def_cfa_offset 0
	.cfi_register %rip, %rdi
	syscall
	push %rdi
	.cfi_def_cfa_offset 8
	.cfi_offset %rip, -8
	ret
	.cfi_endproc

rare:
	.cfi_startproc
	.cfi_personality 0x9b, _start
	.cfi_lsda 0x1b, _start
	.cfi_same_value %rbp
	nop
	.cfi_undefined %rbx
	nop
	.cfi_val_offset %rsp, 0
	nop
	.cfi_escape 0x16, 12, 2, 0x77, 8
	.cfi_escape 0x2e, 16
	.cfi_escape 0x2f, 6, 2
	.cfi_escape 0x05, 6, 2
	.cfi_escape 0x11, 3, 0x7e
	.cfi_escape 0x12, 7, 0x7e
	nop
	.cfi_escape 0x13, 0x7d
	nop
	.cfi_escape 0x0f, 6, 0x77, 0x98, 1, 0x06, 0x23, 8
	nop
	.cfi_endproc

	.section .init, "ax"
	sub $8, %rsp
	add $8, %rsp
	ret
