/* SPDX-License-Identifier: MIT */
/* clang-format off */
/*
 * Shows what a library of PHP's engine has, as in builds of Debian: compiled by
 * tests/fuzz/make-php-seeds. RELEASE is its version, FILE_AT the place of a file's name in a
 * function; HAS_THREADS has the variables of builds for threads.
 */
#define TEXT_OF(value) #value
#define TEXT(value) TEXT_OF(value)

const char header[] = "X-Powered-By: PHP/" TEXT(RELEASE) ".1";

#ifdef HAS_THREADS
long executor_globals_offset;
#else
long executor_globals[225];
#endif

#define BEGIN(name) TEXT(name) ":\n.cfi_startproc\n"
#define GLOBAL(name) ".globl " TEXT(name) "\n.type " TEXT(name) ", @function\n"
#define END(name) ".cfi_endproc\n.size " TEXT(name) ", . - " TEXT(name) "\n"

__asm__(".text\n"
	GLOBAL(zend_is_executing) BEGIN(zend_is_executing)
#ifdef HAS_THREADS
	"mov executor_globals_offset@GOTPCREL(%rip), %rax\n"
#else
	"mov executor_globals@GOTPCREL(%rip), %rax\n"
#endif
	"cmpq $0, 488(%rax)\n setne %al\n ret\n"
	END(zend_is_executing)

	GLOBAL(zend_get_executed_filename_ex) BEGIN(zend_get_executed_filename_ex)
	"mov 24(%rax), %rdx\n mov " TEXT(FILE_AT) "(%rdx), %rax\n ret\n"
	END(zend_get_executed_filename_ex)

	BEGIN(aside) "nop\n 1: nop\n 2: nop\n 3: nop\n 4: ret\n .skip 59, 0x90\n" END(aside)
	BEGIN(other) "nop\n 5: ret\n" END(other)

	GLOBAL(execute_ex) BEGIN(execute_ex)
	"push %r13\n push %r12\n push %rbp\n push %rbx\n sub $120, %rsp\n"
	".byte 0x0f, 0x84\n .long 1b - . - 4\n .byte 0x0f, 0x85\n .long 2b - . - 4\n"
	".byte 0x0f, 0x88\n .long 3b - . - 4\n .byte 0xe9\n .long 4b - . - 4\n"
	".byte 0xe9\n .long 5b - . - 4\n"
	"jmp *(%r15)\n .skip 512, 0x90\n ret\n"
	END(execute_ex)

	BEGIN(last) "ret\n" END(last)
);
