/* SPDX-License-Identifier: MIT */
/* The same for arm64: frame records, signed return addresses, the return from a signal handler. */
	.text
	.globl _start
_start:
	.cfi_startproc
	.cfi_undefined x30
	nop
	.cfi_endproc

leaf:
	.cfi_startproc
	ret
	.cfi_endproc

frame_record:
	.cfi_startproc
	hint #25
	.cfi_negate_ra_state
	stp x29, x30, [sp, #-48]!
	.cfi_def_cfa_offset 48
	.cfi_offset x29, -48
	.cfi_offset x30, -40
	mov x29, sp
	.cfi_def_cfa x29, 48
	str x19, [sp, #16]
	.cfi_offset x19, -32
	.skip 2400
	.cfi_remember_state
	ldp x29, x30, [sp], #48
	.cfi_def_cfa sp, 0
	.cfi_restore x29
	.cfi_restore x30
	hint #29
	.cfi_negate_ra_state
	ret
	.cfi_restore_state
	ret
	.cfi_endproc

elsewhere:
	.cfi_startproc
	mov x17, x30
	.cfi_register x30, x17
	ret
	.cfi_endproc

trampoline_of_old:
	.cfi_startproc
	.cfi_signal_frame
	.cfi_def_cfa x29, 0
	.cfi_offset x29, 0
	.cfi_offset x30, 8
	nop
	mov x8, #139
	svc #0
	.cfi_endproc

	nop
trampoline:
	mov x8, #139
	svc #0
