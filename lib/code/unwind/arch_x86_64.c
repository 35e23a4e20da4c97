/* SPDX-License-Identifier: MIT */
#include <elf.h>

#include "lib/code/unwind/arch.h"
#include "lib/code/unwind/erlang_x86_64.h"
#include "lib/code/unwind/frames_x86_64.h"

/* x86-64: register numbers of the System V ABI, figure 3.36. */

/* Offsets of saved registers in a signal frame, in words (struct ucontext of Linux). */
#define UCONTEXT_RBP 15
#define UCONTEXT_RBX 16
#define UCONTEXT_RSP 20
#define UCONTEXT_RIP 21

const struct unwind_rule unwind_signal_rule_x86_64 = {
	.cfa_kind = UNWIND_CFA_DEREF,
	.cfa_reg = UNWIND_REG_SP,
	.kinds = UNWIND_AT_REG | UNWIND_AT_REG << 2 | UNWIND_AT_REG << 4 | UNWIND_REG_SP << 6,
	.flags = UNWIND_SIGNAL_FRAME,
	.cfa_deref = UCONTEXT_RSP,
	.ra_offset = UCONTEXT_RIP,
	.fp_offset = UCONTEXT_RBP,
	.base_offset = UCONTEXT_RBX,
};

static void add_row(struct stubs *stubs, uint64_t vaddr, int cfa_offset)
{
	stubs_add_row(stubs, vaddr, stubs_rule_at_entry(&unwind_arch_x86_64, cfa_offset));
}

/*
 * Returns the offset in a 16-byte entry at which the relocation's index has been pushed; 0:
 * unknown.
 */
static int push_end(const struct stub_code *code, size_t at)
{
	if (stub_has(code, at, "\xff\x25") && stub_has(code, at + 6, "\x68"))
		return 11; /* jmp *slot; push $index */
	if (stub_has(code, at, "\xf3\x0f\x1e\xfa\x68"))
		return 9; /* endbr64; push $index */
	return stub_has(code, at, "\x68") ? 5 : 0;
}

/* GNU ld writes CFI for this; other linkers do not. */
static void add_plt(struct stubs *stubs, const struct stub_code *code)
{
	struct unwind_rule rule = stubs_rule_at_entry(&unwind_arch_x86_64, 0);
	int threshold = push_end(code, 16);

	/* The first entry: push the module, jump to the resolver. */
	if (code->vaddr % 16 || !stub_has(code, 0, "\xff\x35") || !threshold)
		return;
	add_row(stubs, code->vaddr, 16);
	add_row(stubs, code->vaddr + 6, 24);
	rule.cfa_kind = UNWIND_CFA_PLT;
	rule.cfa_offset = threshold;
	stubs_add_row(stubs, code->vaddr + 16, rule);
	stubs_add_end(stubs, code);
}

static void add_jumps(struct stubs *stubs, const struct stub_code *code)
{
	if (!stub_has(code, 0, "\xff\x25") && !stub_has(code, 0, "\xf3\x0f\x1e\xfa"))
		return;
	add_row(stubs, code->vaddr, 8);
	stubs_add_end(stubs, code);
}

/* sub $8,%rsp … add $8,%rsp; ret */
static void add_init(struct stubs *stubs, const struct stub_code *code)
{
	size_t at = stub_has(code, 0, "\xf3\x0f\x1e\xfa") ? 4 : 0;

	if (code->size < at + 9 || !stub_has(code, at, "\x48\x83\xec\x08") ||
	    !stub_has(code, code->size - 5, "\x48\x83\xc4\x08\xc3"))
		return;
	add_row(stubs, code->vaddr, 8);
	add_row(stubs, code->vaddr + at + 4, 16);
	add_row(stubs, code->vaddr + code->size - 1, 8);
	stubs_add_end(stubs, code);
}

/*
 * Signal handlers return to mov $SYS_rt_sigreturn,%rax; syscall. The row begins a byte early,
 * because the address is looked up like a return address.
 */
static void add_restorers(struct stubs *stubs, const struct stub_code *code)
{
	static const char call[] = "\x0f\x00\x00\x00\x0f\x05";
	const uint8_t *end = code->code + code->size, *at = code->code;

	while ((at = memmem(at, (size_t)(end - at), call, sizeof(call) - 1))) {
		size_t found = (size_t)(at - code->code);
		size_t size = found > 3 && stub_has(code, found - 3, "\x48\xc7\xc0") ? 3
			      : found > 1 && stub_has(code, found - 1, "\xb8")	     ? 1
										     : 0;

		at += sizeof(call) - 1;
		if (!size)
			continue;
		stubs_add_row(stubs, code->vaddr + found - size - 1, unwind_signal_rule_x86_64);
		stubs_add_row(stubs, code->vaddr + (size_t)(at - code->code),
			      (struct unwind_rule){.cfa_kind = UNWIND_CFA_NONE});
	}
}

static void add_stub(struct stubs *stubs, const struct stub_code *code)
{
	if (code->kind == STUB_PLT)
		add_plt(stubs, code);
	else if (code->kind == STUB_PLT_JUMPS)
		add_jumps(stubs, code);
	else if (code->kind == STUB_INIT_FINI)
		add_init(stubs, code);
	else if (code->kind == STUB_RESTORERS)
		add_restorers(stubs, code);
}

/*
 * glibc's clone() and clone3() have no CFI from the system call to the return, since both the
 * parent and the new thread run that code: syscall; test %rax,%rax; jl error; je thread_start; ret
 */
static bool gap_rule(const uint8_t *code, size_t size, struct unwind_rule *rule)
{
	const struct stub_code gap = {.code = code, .size = size};
	size_t at = 5;

	if (!stub_has(&gap, 0, "\x0f\x05\x48\x85\xc0"))
		return false;
	at += stub_has(&gap, at, "\x7c") ? 2 : stub_has(&gap, at, "\x0f\x8c") ? 6 : 0;
	if (at == 5 || !stub_has(&gap, at, "\x74") || !stub_has(&gap, at + 2, "\xc3") ||
	    size != at + 3)
		return false;
	*rule = stubs_rule_at_entry(&unwind_arch_x86_64, 8);
	rule->cfa_kind = UNWIND_CFA_CLONE;
	return true;
}

/*
 * Stacks made by Boost's make_fcontext() begin with the return address of code that ends the
 * program, without a call of it: push %rbp; jmp *%rbx; finish: xor %rdi,%rdi; call _exit
 */
static bool gap_end(const uint8_t *code, size_t size, size_t *start, size_t *end)
{
	static const char jump[] = "\x55\xff\xe3";
	const struct stub_code gap = {.code = code, .size = size};
	const uint8_t *found = memmem(code, size, jump, sizeof(jump) - 1);
	size_t at;

	if (!found || found == code)
		return false;
	*start = (size_t)(found - code);
	at = *start + sizeof(jump) - 1;
	at += stub_has(&gap, at, "\xf3\x0f\x1e\xfa") ? 4 : 0; /* endbr64 */
	*end = at + 8;
	return *end < size && stub_has(&gap, at, "\x48\x31\xff\xe8");
}

/*
 * musl's __clone(), which has no CFI either: … syscall; test %eax,%eax; jne parent; xor %ebp,%ebp;
 * pop %rdi; call *%r9; … syscall; hlt; parent: ret
 */
static void add_musl_clone(struct stubs *rows, const struct stub_code *code)
{
	static const char call[] = "\x0f\x05\x85\xc0\x75\x0f\x31\xed\x5f\x41\xff\xd1";
	const uint8_t *found = memmem(code->code, code->size, call, sizeof(call) - 1);
	size_t at = found ? (size_t)(found - code->code) : code->size;
	struct unwind_rule rule = stubs_rule_at_entry(&unwind_arch_x86_64, 8);

	if (code->size - at < 22 || !stub_has(code, at + 18, "\x0f\x05\xf4\xc3"))
		return;
	rule.cfa_kind = UNWIND_CFA_CLONE;
	stubs_add_row(rows, code->vaddr + at + 2, rule);
	stubs_add_row(rows, code->vaddr + at + 6, (struct unwind_rule){.cfa_kind = UNWIND_CFA_END});
	add_row(rows, code->vaddr + at + 21, 8);
	stubs_add_row(rows, code->vaddr + at + 22,
		      (struct unwind_rule){.cfa_kind = UNWIND_CFA_NONE});
	stubs_sort(rows);
}

static void add_frames(struct stubs *rows, const struct stub_code *code)
{
	frames_x86_64(rows, code);
	add_musl_clone(rows, code);
}

const struct unwind_arch unwind_arch_x86_64 = {
	.machine = EM_X86_64,
	.ra_column = 16,
	.reg_count = 16,
	.word = 8,
	.sp = 7,
	.fp = 6,
	.base = 3,
	/* The CIE of some assembler code omits the location of the return address. */
	.initial = {.kinds = UNWIND_AT_CFA, .ra_offset = -1},
	.add_stub = add_stub,
	.gap_rule = gap_rule,
	.gap_end = gap_end,
	.add_frames = add_frames,
	.function_size = frames_x86_64_size,
	.add_erlang = erlang_x86_64,
	.go = &go_arch_x86_64,
};

/* i386: register numbers of its System V ABI, table 2.14. */

/*
 * GNU ld writes CFI for its stubs. Other code without CFI, such as crti's functions, gets no rows.
 */
static void add_i386_stub(struct stubs *stubs, const struct stub_code *code)
{
	if (code->kind != STUB_PLT_JUMPS ||
	    (!stub_has(code, 0, "\xff\x25") && !stub_has(code, 0, "\xff\xa3") &&
	     !stub_has(code, 0, "\xf3\x0f\x1e\xfb")))
		return;
	stubs_add_row(stubs, code->vaddr, stubs_rule_at_entry(&unwind_arch_i386, 4));
	stubs_add_end(stubs, code);
}

const struct unwind_arch unwind_arch_i386 = {
	.machine = EM_386,
	.ra_column = 8,
	.reg_count = 8,
	.word = 4,
	.sp = 4,
	.fp = 5,
	.base = 3,
	.initial = {.kinds = UNWIND_AT_CFA, .ra_offset = -1},
	.add_stub = add_i386_stub,
};
