// SPDX-License-Identifier: MIT
// A table of functions as Go's linker writes it, and x86-64 code with the shapes of Go's runtime on
// which rows depend. None of that code runs.

// Parts of the table are subsections: 0 header, 1 names, 2 values, 3 functions, 4 records.
	.section .go.buildinfo, "a"
	.ascii "\377 Go buildinf:\010\002"
	.fill 16
	.byte 8
	.ascii "go1.23.4"
	.section .gopclntab, "aw"
	.balign 32
go_table:
	.long 0xfffffff1
	.byte 0, 0, 1, 8
	.quad (go_functions_end - go_functions) / 8, 0, go_text, go_names - go_table, 0, 0
	.quad go_values - go_table, go_functions - go_table
	.subsection 1
go_names:
	.byte 0
	.subsection 2
go_values:
	.byte 0
	.subsection 3
go_functions:

// Adds the function that the last label begins and this place ends. Sizes are pairs of a frame's
// size and the label where it ends to hold, or the end.
	.macro go_function label, name, flags, sizes:vararg
	.pushsection .gopclntab, "aw"
	.subsection 1
\label\()_name:
	.asciz "\name"
	.subsection 2
\label\()_sizes:
	go_sizes -1, \label, \sizes
	.byte 0
	.subsection 3
	.long \label - go_text, \label\()_record - go_functions
	.subsection 4
	.balign 4
\label\()_record:
	.long \label - go_text, \label\()_name - go_names, 0, 0
	.long \label\()_sizes - go_values, 0, 0, 0, 0, 0
	.byte 0, \flags, 0, 0
	.popsection
	.endm
	.macro go_sizes last, from, size, to, rest:vararg
	// A difference, with its sign in the lowest bit.
	.if \size < \last
	.uleb128 ((\last - \size) * 2) - 1
	.else
	.uleb128 (\size - \last) * 2
	.endif
	.uleb128 \to - \from
	.ifnb \rest
	go_sizes \size, \to, \rest
	.endif
	.endm

	.section .text.go_rows, "ax"
	.globl go_text, go_text_end
go_text:

// An ordinary function.
	.globl go_plain
go_plain:
	push %rbp
go_plain_1:
	mov %rsp, %rbp
	sub $32, %rsp
go_plain_2:
	add $32, %rsp
go_plain_3:
	pop %rbp
go_plain_4:
	ret
go_plain_end:
	go_function go_plain, main.plain, 0, 0, go_plain_1, 8, go_plain_2, 40, go_plain_3, 8, go_plain_4, 0, go_plain_end

// Assembler without a frame pointer.
	.globl go_bare
go_bare:
	push %rax
go_bare_1:
	pop %rax
go_bare_2:
	ret
go_bare_end:
	go_function go_bare, main.bare, 4, 0, go_bare_1, 8, go_bare_2, 0, go_bare_end

// Goes to the system stack and comes back.
	.globl go_systemstack, go_systemstack_leave, go_systemstack_left, go_systemstack_return, go_systemstack_back
go_systemstack:
	push %rbp
go_systemstack_1:
	mov %rsp, %rbp
	mov %fs:-24, %rax
	mov 64(%rax), %rbx
	cmp %rax, 176(%rbx)
go_systemstack_leave:
	mov 72(%rdx), %rsp
go_systemstack_left:
	call *%rdi
	mov %fs:-24, %rax
	mov 64(%rax), %rbx
	mov 176(%rbx), %rax
	mov %rax, %fs:-24
go_systemstack_return:
	mov 72(%rax), %rsp
go_systemstack_back:
	pop %rbp
go_systemstack_2:
	ret
go_systemstack_end:
	go_function go_systemstack, runtime.systemstack, 6, 0, go_systemstack_1, 8, go_systemstack_2, 0, go_systemstack_end

// Grows the goroutine's stack, from the system stack.
	.globl go_morestack, go_morestack_left
go_morestack:
	mov (%rsp), %rax
	mov 72(%rbx), %rsp
go_morestack_left:
	call go_plain
	ret
go_morestack_end:
	go_function go_morestack, runtime.morestack, 6, 0, go_morestack_end

// Calls C, on the system stack.
	.globl go_asmcgocall_left, go_asmcgocall_stored, go_asmcgocall_back
go_asmcgocall:
	push %rbp
go_asmcgocall_1:
	mov %rsp, %rbp
	mov %rsp, %rdx
	mov 72(%rsi), %rsp
go_asmcgocall_left:
	sub $16, %rsp
	and $-16, %rsp
	mov %rdi, 8(%rsp)
	mov %rdi, (%rsp)
go_asmcgocall_stored:
	call *%rax
	mov %rsi, %rsp
go_asmcgocall_back:
	pop %rbp
go_asmcgocall_2:
	ret
go_asmcgocall_end:
	go_function go_asmcgocall, runtime.asmcgocall, 6, 0, go_asmcgocall_1, 8, go_asmcgocall_2, 0, go_asmcgocall_end

// Aligns its stack.
	.globl go_vdso_left, go_vdso_back
go_vdso:
	push %rbp
go_vdso_1:
	mov %rsp, %rbp
	mov %rsp, %r12
	and $-16, %rsp
go_vdso_left:
	call *%rax
	mov %r12, %rsp
go_vdso_back:
	pop %rbp
go_vdso_2:
	ret
go_vdso_end:
	go_function go_vdso, runtime.nanotime1, 6, 0, go_vdso_1, 8, go_vdso_2, 0, go_vdso_end

// Aligns its stack, and keeps its place there.
	.globl go_aligned_left, go_aligned_back
go_aligned:
	push %rbp
go_aligned_1:
	mov %rsp, %rbp
	sub $16, %rsp
go_aligned_2:
	mov %rsp, %rbx
	and $-16, %rsp
go_aligned_left:
	mov %rbx, (%rsp)
	call *%rax
	mov (%rsp), %rsp
go_aligned_back:
	leave
go_aligned_3:
	ret
go_aligned_end:
	go_function go_aligned, runtime.callCgoMmap, 6, 0, go_aligned_1, 8, go_aligned_2, 24, go_aligned_3, 0, go_aligned_end

// Gives the goroutine up.
	.globl go_mcall, go_mcall_left
go_mcall:
	mov 72(%rsi), %rsp
go_mcall_left:
	call *%rdi
go_mcall_end:
	go_function go_mcall, runtime.mcall, 6, 0, go_mcall_end

	.globl go_goexit
go_goexit:
	nop
	nop
go_goexit_end:
	go_function go_goexit, runtime.goexit, 5, 0, go_goexit_end

	.globl go_padding, go_sigreturn, go_sigpanic
go_padding:
	int3
go_sigreturn:
	mov $15, %eax
	syscall
go_sigreturn_end:
	go_function go_sigreturn, runtime.sigreturn__sigaction, 4, 0, go_sigreturn_end
go_sigpanic:
	nop
go_sigpanic_end:
	go_function go_sigpanic, runtime.sigpanic, 0, 0, go_sigpanic_end

// Sets labels of a goroutine: with a write barrier, and without.
go_set_labels:
	push %rbp
go_set_labels_1:
	mov %rax, 8(%rsp)
	mov %rax, (%r11)
	mov %rax, 0x160(%r14)
	mov 0x168(%r14), %rcx
	pop %rbp
go_set_labels_2:
	ret
go_set_labels_end:
	go_function go_set_labels, runtime/pprof.runtime_setProfLabel, 0, 0, go_set_labels_1, 8, go_set_labels_2, 0, go_set_labels_end
go_text_end:
	nop

	.section .gopclntab, "aw"
	.subsection 3
go_functions_end:
	.long go_text_end - go_text
	.text
