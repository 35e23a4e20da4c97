/* SPDX-License-Identifier: MIT */
/* clang-format off */
/*
 * Shows what a library of Ruby's interpreter has, as in builds of Debian: compiled by
 * tests/fuzz/make-ruby-seeds. MAJOR and MINOR are its version; HIDES_EXEC has no symbol of
 * rb_vm_exec, and the C library's tags; HIDES_CONTEXT no code that leads to the threads' contexts.
 */
#define TEXT(value) #value
#define VERSION(major, minor) TEXT(major) "." TEXT(minor) ".2"

const char ruby_version[] = VERSION(MAJOR, MINOR);

#define BEGIN(name) TEXT(name) ":\n.cfi_startproc\n"
#define GLOBAL(name) ".globl " TEXT(name) "\n.type " TEXT(name) ", @function\n"
#define END(name) ".cfi_endproc\n.size " TEXT(name) ", . - " TEXT(name) "\n"

#if MAJOR == 2
void *ruby_current_execution_context_ptr;
#endif
long context_index[2] __attribute__((visibility("hidden"))) = {1, 16};
int last_symbol __attribute__((visibility("hidden"))) = 1000;

__asm__(".text\n"
	GLOBAL(rb_thread_current) BEGIN(rb_thread_current)
#if MAJOR == 2
	"mov ruby_current_execution_context_ptr@GOTPCREL(%rip), %rax\n"
	"mov (%rax), %rax\n mov 56(%rax), %rax\n mov 16(%rax), %rax\n ret\n"
#elif !defined(HIDES_CONTEXT)
	"data16 lea context_index(%rip), %rdi\n .byte 0x66, 0x66, 0x48\n call helper\n"
#endif
	"mov (%rax), %rax\n"
#if MAJOR == 4
	"mov %rax, 8(%rsp)\n mov 8(%rsp), %rax\n"
#endif
	"mov 48(%rax), %rax\n mov 16(%rax), %rax\n ret\n"
	END(rb_thread_current)

	BEGIN(helper) "nop\n ret\n" END(helper)

	BEGIN(name_symbol) "push %rbx\n cmp %ebx, last_symbol(%rip)\n pop %rbx\n ret\n .skip 256, 0x90\n"
	END(name_symbol)

	GLOBAL(rb_id2str) BEGIN(rb_id2str) "mov %rdi, %rax\n shr $4, %rax\n jmp name_symbol\n"
	".skip 8, 0x90\n" END(rb_id2str)

	BEGIN(run_loop) ".skip 512, 0x90\n ret\n" END(run_loop)

	BEGIN(run)
#ifndef HIDES_EXEC
	"lea 1f(%rip), %rcx\n 1:\n"
#endif
	"mov 24(%rdi), %rax\n mov 48(%rdi), %rax\n"
#ifdef HIDES_EXEC
	/* A tag 48 bytes from the sp on, with the next one further out and its registers. */
	"mov %rax, 264(%rsp)\n lea 64(%rsp), %rdi\n mov %edx, 276(%rsp)\n"
#endif
	"call helper\n call run_loop\n ret\n"
	END(run)

	BEGIN(other) "nop\n ret\n .skip 256, 0x90\n" END(other)

	GLOBAL(rb_iseq_eval) BEGIN(rb_iseq_eval) "call helper\n call other\n jmp run\n"
	END(rb_iseq_eval)
#ifndef HIDES_EXEC
	".globl rb_vm_exec\n.type rb_vm_exec, @function\n.set rb_vm_exec, run\n"
	".size rb_vm_exec, 26\n"
#endif
);
