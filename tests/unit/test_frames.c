/* SPDX-License-Identifier: MIT */
/* Frames of x86-64 code without CFI: CFAs as offsets from sp, at places of real functions. */

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/code/unwind/arch.h"
#include "lib/code/unwind/compile.h"
#include "lib/code/unwind/frames_x86_64.h"
#include "tests/unit/test.h"
#include "tests/unwind_table_find.h"

#define VADDR 0x401000
#define CORPUS "tests/fuzz/corpus/frames/"

/* Returns the rule at an offset in the code. */
static struct unwind_rule rule_at(const struct stubs *rows, size_t at)
{
	struct unwind_rule rule = {.cfa_kind = UNWIND_CFA_NONE};

	vec_for_each(&rows->rows, const struct stub_row *, row) {
		if (row->vaddr <= VADDR + at)
			rule = row->rule;
	}
	return rule;
}

/* Returns the distance of the CFA from sp, or negative from fp; 0: no rule. */
static int cfa_at(const struct stubs *rows, size_t at)
{
	struct unwind_rule rule = rule_at(rows, at);

	if (rule.cfa_kind == UNWIND_CFA_NONE)
		return 0;
	assert_int_equal(rule.cfa_kind, UNWIND_CFA_REG);
	if (rule.cfa_reg == UNWIND_REG_FP)
		return -rule.cfa_offset;
	assert_int_equal(rule.cfa_reg, UNWIND_REG_SP);
	return rule.cfa_offset;
}

static void derive(struct stubs *rows, const void *code, size_t size)
{
	const struct stub_code all = {.code = code, .size = size, .vaddr = VADDR};

	*rows = (struct stubs){0};
	frames_x86_64(rows, &all);
}

#define DERIVE(rows, bytes) derive(rows, bytes, sizeof(bytes) - 1)

static void derive_file(struct stubs *rows, const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint8_t code[4096];
	ssize_t size = read(fd, code, sizeof(code));

	assert_true(size > 0);
	derive(rows, code, (size_t)size);
}

/* musl: the first function never returns, the second one ends with a jump. */
TEST(functions_that_start_programs)
{
	struct stubs rows;

	derive_file(&rows, CORPUS "musl-start");
	assert_int_equal(cfa_at(&rows, 0), 8);
	assert_int_equal(cfa_at(&rows, 2), 16);
	assert_int_equal(cfa_at(&rows, 0x1b), 48);
	assert_int_equal(cfa_at(&rows, 0x2c), 48);
	assert_int_equal(rule_at(&rows, 0x1b).fp_offset, -4);
	assert_int_equal(rule_at(&rows, 0x1b).base_offset, -5);
	assert_int_equal(cfa_at(&rows, 0x31), 0);
	stubs_release(&rows);
}

/* GMP: registers are pushed at the start; the middle is reached by jumps to addresses. */
TEST(code_behind_indirect_jumps)
{
	struct stubs rows;

	derive_file(&rows, CORPUS "gmp-mul");
	assert_int_equal(cfa_at(&rows, 0), 8);
	assert_int_equal(cfa_at(&rows, 0xa), 56);
	assert_int_equal(cfa_at(&rows, 0x2d0), 56);
	assert_int_equal(cfa_at(&rows, 0x43c), 56);
	assert_int_equal(rule_at(&rows, 0x43c).fp_offset, -3);
	assert_int_equal(cfa_at(&rows, 0x449), 16);
	assert_int_equal(cfa_at(&rows, 0x44a), 8);
	stubs_release(&rows);
}

/* sub $24,%rsp; test; je; call; add $24,%rsp; ret */
static const char plain[] = "\x48\x83\xec\x18\x48\x85\xff\x74\x05\xe8\x00\x01\x00\x00"
			    "\x48\x83\xc4\x18\xc3";

TEST(returns_must_agree)
{
	char code[sizeof(plain)];
	struct stubs rows;

	DERIVE(&rows, plain);
	assert_int_equal(cfa_at(&rows, 0), 8);
	assert_int_equal(cfa_at(&rows, 4), 32);
	assert_int_equal(cfa_at(&rows, 18), 8);
	assert_int_equal(cfa_at(&rows, 19), 0);
	stubs_release(&rows);
	/* add $16,%rsp */
	memcpy(code, plain, sizeof(code));
	code[17] = 0x10;
	DERIVE(&rows, code);
	assert_int_equal(rows.rows.count, 0);
	stubs_release(&rows);
	/* sub %rax,%rsp */
	memcpy(code, "\x48\x29\xc4\x90", 4);
	DERIVE(&rows, code);
	assert_int_equal(rows.rows.count, 0);
	stubs_release(&rows);
}

/* push %rbp; mov %rsp,%rbp; push %rbx; sub %rax,%rsp; lea -8(%rbp),%rsp; pop; pop; ret */
TEST(frame_pointers)
{
	struct unwind_rule rule;
	struct stubs rows;

	DERIVE(&rows, "\x55\x48\x89\xe5\x53\x48\x29\xc4\x90\x48\x8d\x65\xf8\x5b\x5d\xc3");
	assert_int_equal(cfa_at(&rows, 1), 16);
	/* By fp, although sp is known. */
	assert_int_equal(cfa_at(&rows, 5), -16);
	rule = rule_at(&rows, 8);
	assert_int_equal(rule.cfa_reg, UNWIND_REG_FP);
	assert_int_equal(rule.cfa_offset, 16);
	assert_int_equal(rule.fp_offset, -2);
	assert_int_equal(rule.base_offset, -3);
	assert_int_equal(cfa_at(&rows, 13), -16);
	assert_int_equal(cfa_at(&rows, 15), 8);
	stubs_release(&rows);
}

/*
 * push %rbp; mov %rsp,%rbp; push %r14; test; je; mov %rsp,%r14; sub %rax,%rsp; nop;
 * mov %r14,%rsp; nop; lea -8(%rbp),%rsp; pop; pop; ret: an array in a part of the function
 */
TEST(arrays_in_a_part)
{
	struct stubs rows;

	DERIVE(&rows, "\x55\x48\x89\xe5\x41\x56\x85\xff\x74\x0a\x49\x89\xe6\x48\x29\xc4\x90"
		      "\x4c\x89\xf4\x90\x48\x8d\x65\xf8\x41\x5e\x5d\xc3");
	assert_int_equal(cfa_at(&rows, 13), -16);
	assert_int_equal(rule_at(&rows, 16).cfa_reg, UNWIND_REG_FP);
	assert_int_equal(rule_at(&rows, 16).cfa_offset, 16);
	assert_int_equal(cfa_at(&rows, 20), -16);
	assert_int_equal(cfa_at(&rows, 25), -16);
	assert_int_equal(cfa_at(&rows, 28), 8);
	stubs_release(&rows);
	/* Paths that join with different frames, none of which has an array: push; test; je; push.
	 */
	DERIVE(&rows, "\x53\x85\xff\x74\x01\x50\x90\x5b\xc3");
	assert_int_equal(rows.rows.count, 0);
	stubs_release(&rows);
}

static void check_rule(const struct stubs *rows, size_t at, uint8_t kind, uint8_t reg, int deref,
		       int offset)
{
	struct unwind_rule rule = rule_at(rows, at);

	assert_int_equal(rule.cfa_kind, kind);
	assert_int_equal(rule.cfa_reg, reg);
	assert_int_equal(rule.cfa_deref, deref);
	assert_int_equal(rule.cfa_offset, offset);
}

/* push %rbp; push; sub $8,%rsp; call *(%rbx); nop; jmp: an endless loop, as at the end of a thread
 */
TEST(functions_that_never_end)
{
	struct stubs rows;

	DERIVE(&rows, "\x55\x53\x48\x83\xec\x08\xff\x13\x90\xeb\xfd");
	assert_int_equal(cfa_at(&rows, 2), 24);
	assert_int_equal(cfa_at(&rows, 8), 32);
	stubs_release(&rows);
	/* sub $16,%rsp: the stack is not aligned at the call. */
	DERIVE(&rows, "\x55\x53\x48\x83\xec\x10\xff\x13\x90\xeb\xfd");
	assert_int_equal(rows.rows.count, 0);
	stubs_release(&rows);
}

/* Assembler that aligns the stack */
TEST(sp_is_kept)
{
	struct stubs rows;

	/*
	 * x86inc.asm's prologue: push %rbx; mov %rsp,%rax; sub $144,%rsp; and $-32,%rsp;
	 * mov %rax,128(%rsp); xor %eax,%eax; push %rcx; nop; pop; mov 128(%rsp),%rsp; pop; ret
	 */
	DERIVE(&rows, "\x53\x48\x89\xe0\x48\x81\xec\x90\x00\x00\x00\x48\x83\xe4\xe0"
		      "\x48\x89\x84\x24\x80\x00\x00\x00\x31\xc0\x51\x90\x59"
		      "\x48\x8b\xa4\x24\x80\x00\x00\x00\x5b\xc3");
	assert_int_equal(cfa_at(&rows, 11), 160);
	check_rule(&rows, 15, UNWIND_CFA_REG, UNWIND_REG_OTHER, 0, 16);
	check_rule(&rows, 23, UNWIND_CFA_DEREF, UNWIND_REG_SP, 16, 16);
	check_rule(&rows, 26, UNWIND_CFA_DEREF, UNWIND_REG_SP, 17, 16);
	check_rule(&rows, 28, UNWIND_CFA_DEREF, UNWIND_REG_SP, 16, 16);
	assert_int_equal(cfa_at(&rows, 36), 16);
	assert_int_equal(cfa_at(&rows, 37), 8);
	stubs_release(&rows);
	/* OpenBLAS: push %r9; mov %rsp,%rbx; sub $144,%rsp; and $-64,%rsp; mov %rbx,%rsp; pop; ret
	 */
	DERIVE(&rows, "\x41\x51\x48\x89\xe3\x48\x81\xec\x90\x00\x00\x00\x48\x83\xe4\xc0"
		      "\x48\x89\xdc\x41\x59\xc3");
	assert_int_equal(cfa_at(&rows, 12), 160);
	check_rule(&rows, 16, UNWIND_CFA_REG, UNWIND_REG_BASE, 0, 16);
	assert_int_equal(cfa_at(&rows, 19), 16);
	stubs_release(&rows);
	/*
	 * libjpeg-turbo: push %rbp; mov %rsp,%rax; sub $4,%rsp; and $-16,%rsp; mov %rax,(%rsp);
	 * mov %rsp,%rbp; lea -32(%rbp),%rsp; push; nop; pop; mov %rbp,%rsp; pop %rsp; pop; ret
	 */
	DERIVE(&rows, "\x55\x48\x89\xe0\x48\x83\xec\x04\x48\x83\xe4\xf0\x48\x89\x04\x24"
		      "\x48\x89\xe5\x48\x8d\x65\xe0\x53\x90\x5b\x48\x89\xec\x5c\x5d\xc3");
	check_rule(&rows, 16, UNWIND_CFA_DEREF, UNWIND_REG_SP, 0, 16);
	check_rule(&rows, 24, UNWIND_CFA_DEREF, UNWIND_REG_FP, 0, 16);
	assert_int_equal(rule_at(&rows, 24).fp_offset, -2);
	check_rule(&rows, 29, UNWIND_CFA_DEREF, UNWIND_REG_SP, 0, 16);
	assert_int_equal(cfa_at(&rows, 30), 16);
	assert_int_equal(cfa_at(&rows, 31), 8);
	stubs_release(&rows);
	/* push; mov %rsp,%rax; and $-16,%rsp; xor %eax,%eax; mov %rax,%rsp: it is overwritten. */
	DERIVE(&rows, "\x53\x48\x89\xe0\x48\x83\xe4\xf0\x31\xc0\x48\x89\xc4\x5b\xc3");
	assert_int_equal(rows.rows.count, 0);
	stubs_release(&rows);
}

/* push %rbp; sub $16,%rsp; test; je; lea 8(%rsp),%rbp; nop; add $16,%rsp; pop; ret */
TEST(frame_pointers_in_a_part)
{
	struct stubs rows;

	DERIVE(&rows, "\x55\x48\x83\xec\x10\x85\xff\x74\x05\x48\x8d\x6c\x24\x08\x90"
		      "\x48\x83\xc4\x10\x5d\xc3");
	assert_int_equal(cfa_at(&rows, 9), 32);
	assert_int_equal(cfa_at(&rows, 14), 32);
	assert_int_equal(rule_at(&rows, 14).fp_offset, -2);
	assert_int_equal(cfa_at(&rows, 20), 8);
	stubs_release(&rows);
	/* Then it cannot be what the stack is restored from: leave. */
	DERIVE(&rows, "\x55\x48\x83\xec\x10\x85\xff\x74\x05\x48\x8d\x6c\x24\x08\x90\xc9\xc3");
	assert_int_equal(rows.rows.count, 0);
	stubs_release(&rows);
}

/* Small code, behind a function: push; call of exit(); push, call of a tail: as in busybox. */
TEST(functions_at_odd_places)
{
	static const char bytes[] = "\x89\xf8\xc3" /* mov %edi,%eax; ret */
				    "\x53\xe8\x00\x01\x00\x00" /* push %rbx; call */
				    "\x53\x89\xfb\x5b\xe9\x00\x20\x00\x00" /* push; mov; pop; jmp */
				    "\x89\xf8\xe9\x00\x20\x00\x00" /* mov; jmp */
				    "\xe8\xeb\xff\xff\xff\xe8\xef\xff\xff\xff\xc3"; /* calls */
	struct stubs rows;

	DERIVE(&rows, bytes);
	assert_int_equal(cfa_at(&rows, 4), 16);
	assert_int_equal(cfa_at(&rows, 10), 16);
	assert_int_equal(cfa_at(&rows, 13), 8);
	assert_int_equal(cfa_at(&rows, 18), 8);
	assert_int_equal(cfa_at(&rows, 25), 8);
	stubs_release(&rows);
}

/* ret; pop %rax; push %rax; push %rax; call; hlt; ret: Free Pascal's main program */
TEST(functions_that_read_their_return_address)
{
	struct stubs rows;

	DERIVE(&rows, "\xc3\x58\x50\x50\xe8\x00\x01\x00\x00\xf4\xc3");
	assert_int_equal(cfa_at(&rows, 1), 8);
	assert_int_equal(cfa_at(&rows, 3), 8);
	assert_int_equal(cfa_at(&rows, 8), 16);
	assert_int_equal(cfa_at(&rows, 10), 8);
	stubs_release(&rows);
	/* Another register: pop %rax; push %rcx. */
	DERIVE(&rows, "\xc3\x58\x51\x50\xe8\x00\x01\x00\x00\xf4\xc3");
	assert_int_equal(cfa_at(&rows, 3), 0);
	stubs_release(&rows);
}

/* Code of which only a part is understood: the next function counts again. */
TEST(functions_behind_others)
{
	char code[64];
	struct stubs rows;

	memset(code, 0x90, sizeof(code));
	memcpy(code, "\x48\x89\xc4\xc3", 4); /* mov %rax,%rsp; ret */
	memcpy(code + 16, plain, sizeof(plain) - 1);
	derive(&rows, code, sizeof(code));
	assert_int_equal(cfa_at(&rows, 0), 0);
	assert_int_equal(cfa_at(&rows, 16 + 4), 32);
	stubs_release(&rows);
	/* Long instructions: vmovups %zmm0,64(%rax); vpshufd; movabs; nopw; ret */
	DERIVE(&rows, "\x53\x62\xf1\x7c\x48\x11\x40\x01\xc5\xf9\x70\xc0\x4e"
		      "\x48\xb8\x01\x02\x03\x04\x05\x06\x07\x08"
		      "\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00\x5b\xc3");
	assert_int_equal(cfa_at(&rows, 1), 16);
	assert_int_equal(cfa_at(&rows, 34), 8);
	stubs_release(&rows);
}

/*
 * A function that other files call, at an odd place; dead code; and one that calls its own helper
 * with an unaligned stack, as in x265.
 */
TEST(functions_that_nothing_calls)
{
	char code[64];
	struct stubs rows;

	memset(code, 0x90, sizeof(code));
	memcpy(code, "\x48\x89\xf8\xc3", 4); /* mov %rdi,%rax; ret */
	memcpy(code + 4, "\xe8\x27\x00\x00\x00\x01\xc0\xc3", 8); /* call; add %eax,%eax; ret */
	memcpy(code + 12, "\xc5\xf8\x77\xc3", 4); /* vzeroupper; ret */
	memcpy(code + 16, "\xe8\x1b\x00\x00\x00\x01\xc0\xc3", 8);
	memcpy(code + 48, "\x01\xff\xc3", 3); /* add %edi,%edi; ret */
	derive(&rows, code, sizeof(code));
	assert_int_equal(cfa_at(&rows, 9), 8);
	assert_int_equal(cfa_at(&rows, 21), 8);
	assert_int_equal(cfa_at(&rows, 24), 0);
	assert_int_equal(cfa_at(&rows, 48), 8);
	stubs_release(&rows);
}

/* dav1d: code that a table of jumps leads to, and of which a part ends in code before it. */
TEST(code_behind_a_jump_that_needs_no_frame)
{
	static const char bytes[] = "\x89\xf8\xc3\x90\x90\x90\x90\x90" /* mov %edi,%eax; ret */
				    "\x90\x90\x90\x90\x90\x90\x90\x90"
				    "\x01\xff\xff\xe0" /* add %edi,%edi; jmp *%rax */
				    "\x53\x01\xc0\x5b\xc3" /* push; add; pop; ret */
				    "\x01\xc9\xeb\xf8" /* add %ecx,%ecx; jmp to the pop */
				    "\x01\xc9\xeb\xf5"; /* add %ecx,%ecx; jmp to the add */
	struct stubs rows;

	DERIVE(&rows, bytes);
	assert_int_equal(cfa_at(&rows, 16), 8);
	assert_int_equal(cfa_at(&rows, 18), 8);
	assert_int_equal(cfa_at(&rows, 20), 8);
	assert_int_equal(cfa_at(&rows, 21), 16);
	assert_int_equal(cfa_at(&rows, 25), 0);
	assert_int_equal(cfa_at(&rows, 29), 0);
	stubs_release(&rows);
	/* to the push, and behind the pop */
	DERIVE(&rows, "\x53\x01\xc0\x5b\xc3\x01\xc9\xeb\xf7\x01\xc9\xeb\xf7");
	assert_int_equal(cfa_at(&rows, 5), 8);
	assert_int_equal(cfa_at(&rows, 9), 8);
	assert_int_equal(cfa_at(&rows, 13), 0);
	stubs_release(&rows);
}

/*
 * sub; lea; add; call; test; js to the second call; add; ret; call: musl's mktime(). Both calls end
 * before an aligned place, but only the second one is of a function that does not return.
 */
TEST(functions_that_end_at_a_call)
{
	static const char bytes[] =
		"\x48\x83\xec\x18\x48\x8d\x44\x24\x08\x01\xc0\xe8\x00\x01\x00\x00"
		"\x85\xc0\x78\x05\x48\x83\xc4\x18\xc3\xe8\x00\x02\x00\x00\x66\x90"
		"\x89\xf8\xc3"; /* mov %edi,%eax; ret */
	struct stubs rows;

	DERIVE(&rows, bytes);
	assert_int_equal(cfa_at(&rows, 4), 32);
	assert_int_equal(cfa_at(&rows, 16), 32);
	assert_int_equal(cfa_at(&rows, 24), 8);
	assert_int_equal(cfa_at(&rows, 25), 32);
	assert_int_equal(cfa_at(&rows, 32), 8);
	assert_int_equal(cfa_at(&rows, 35), 0);
	stubs_release(&rows);
}

/* push; test; je over hlt; hlt; test; je to the second hlt; pop; ret; hlt; jmp to the pop: musl */
TEST(code_behind_checks)
{
	struct stubs rows;

	DERIVE(&rows, "\x53\x85\xc0\x74\x01\xf4\x85\xff\x74\x02\x5b\xc3\xf4\xeb\xfb\x90");
	assert_int_equal(cfa_at(&rows, 1), 16);
	assert_int_equal(cfa_at(&rows, 11), 8);
	assert_int_equal(cfa_at(&rows, 13), 16);
	assert_int_equal(cfa_at(&rows, 15), 0);
	stubs_release(&rows);
}

/* push; je to the second jump's target; jmp to it; jmp to the pop, which nothing leads to; pop; ret
 */
TEST(jumps_that_nothing_leads_to)
{
	struct stubs rows;

	DERIVE(&rows, "\x53\x74\x04\xeb\x02\xeb\x00\x5b\xc3");
	assert_int_equal(cfa_at(&rows, 1), 16);
	assert_int_equal(cfa_at(&rows, 7), 16);
	assert_int_equal(cfa_at(&rows, 8), 8);
	assert_int_equal(cfa_at(&rows, 9), 0);
	stubs_release(&rows);
	/* A jump out of the function. */
	DERIVE(&rows, "\x53\x74\x04\xeb\x02\xeb\x10\x5b\xc3");
	assert_int_equal(rows.rows.count, 0);
	stubs_release(&rows);
}

/* push; jmp to the pop; add %eax,%eax; ret; pop; ret: the part between may have any frame. */
TEST(functions_with_parts_that_nothing_leads_to)
{
	struct stubs rows;

	DERIVE(&rows, "\x53\xeb\x03\x01\xc0\xc3\x5b\xc3");
	assert_int_equal(rows.rows.count, 0);
	stubs_release(&rows);
}

static bool read_code(const void *ctx, uint64_t vaddr, void *to, size_t size)
{
	memcpy(to, (const char *)ctx + (vaddr - VADDR), size);
	return true;
}

/* A function without an own frame, at an odd place behind a stub, which is called before it. */
TEST(calls_from_before_a_stub)
{
	const struct code_range all = {VADDR, VADDR + 0x80};
	const struct stub_row stubs[] = {
		{VADDR + 0x48, stubs_rule_at_entry(&unwind_arch_x86_64, 16)},
		{VADDR + 0x4c, {.cfa_kind = UNWIND_CFA_NONE}},
	};
	char code[0x80];
	const struct compile_input input = {
		.arch = &unwind_arch_x86_64,
		.code = &all,
		.code_count = 1,
		.read_code = read_code,
		.ctx = code,
		.stubs = stubs,
		.stub_count = 2,
		.derived = all,
	};
	struct unwind_rules rules;
	struct unwind_table table = {0};

	memset(code, 0x90, sizeof(code));
	memcpy(code, plain, sizeof(plain) - 1);
	code[10] = 0x55 - 14;
	code[11] = 0;
	memcpy(code + 0x55, "\x48\x89\xf8\xc3", 4); /* mov %rdi,%rax; ret */
	unwind_rules_init(&rules);
	assert_int_equal(compile_table(&input, &rules, &table, NULL), 0);
	assert_int_equal(rules.rows.items[unwind_table_find(&table, VADDR + 4)].cfa_offset, 32);
	assert_int_equal(rules.rows.items[unwind_table_find(&table, VADDR + 0x49)].cfa_offset, 16);
	assert_int_equal(unwind_table_find(&table, VADDR + 0x50), UNWIND_RULE_NONE);
	assert_int_equal(rules.rows.items[unwind_table_find(&table, VADDR + 0x55)].cfa_offset, 8);
	assert_int_equal(unwind_table_find(&table, VADDR + 0x59), UNWIND_RULE_NONE);
	unwind_table_release(&table);
	unwind_rules_release(&rules);
}

/*
 * Functions with frame pointers and one without: analysed as all code, with or without a stub in
 * it, but not as pieces around a function with CFI, unless only the first has a frame pointer.
 */
TEST(frame_pointers_do_not_suffice_for_all_code)
{
	const struct code_range all = {VADDR, VADDR + 0x400};
	/* push %rbp; mov %rsp,%rbp; pop %rbp; ret */
	static const char usual[] = "\x55\x48\x89\xe5\x5d\xc3";
	/* A CIE, def_cfa rsp+8; an FDE of eight bytes. */
	static const uint8_t cfi[] = {
		12, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 1, 0, 1, 0x78, 16, 0x0c, 7, 8, 20, 0, 0, 0,
		0,  0, 0, 0, 0xf0, 0x11, 0x40, 0,    0, 0, 0, 0,    8,	0,    0, 0, 0,	0, 0, 0,
	};
	const struct stub_row stubs[] = {
		{VADDR + 0x1f0, stubs_rule_at_entry(&unwind_arch_x86_64, 16)},
		{VADDR + 0x1f8, {.cfa_kind = UNWIND_CFA_NONE}},
	};
	char code[0x400];
	struct compile_input input = {
		.arch = &unwind_arch_x86_64,
		.code = &all,
		.code_count = 1,
		.read_code = read_code,
		.ctx = code,
		.derived = all,
		.stubs = stubs,
	};

	memset(code, 0x90, sizeof(code));
	for (size_t at = 0; at < sizeof(code); at += 0x20)
		memcpy(code + at, usual, sizeof(usual) - 1);
	memcpy(code + 0x100, "\x53\x01\xc0\x5b\xc3", 5); /* push %rbx; add; pop; ret */
	for (int kind = 0; kind < 4; kind++) {
		bool is_split = kind >= 2, is_derived = kind != 2;
		struct unwind_table table = {0};
		struct unwind_rules rules;
		struct unwind_rule rule;

		input.stub_count = kind == 1 ? 2 : 0;
		input.more = (struct cfi_section){.data = cfi, .size = is_split ? sizeof(cfi) : 0};
		for (size_t at = 0x20; kind == 3 && at < sizeof(code); at += 0x20)
			memcpy(code + at,
			       at == 0x100 ? "\x53\x01\xc0\x5b\xc3" : "\x31\xc0\xc3\x90\x90", 5);
		unwind_rules_init(&rules);
		assert_int_equal(compile_table(&input, &rules, &table, NULL), 0);
		assert_int_equal(table.stats.fdes, is_split);
		rule = rules.rows.items[unwind_table_find(&table, VADDR + 0x101)];
		assert_int_equal(rule.cfa_kind, is_derived ? UNWIND_CFA_REG : UNWIND_CFA_NONE);
		assert_int_equal(rule.cfa_offset, is_derived ? 16 : 0);
		unwind_table_release(&table);
		unwind_rules_release(&rules);
	}
}

/* musl's __clone(): both threads come out of the system call, one of them into its first function.
 */
TEST(threads_begin_in_musl)
{
	static const char clone[] =
		"\x48\x83\xe6\xf0\x48\x83\xee\x08\x48\x89\x0e\x0f\x05\x85\xc0\x75\x0f\x31\xed"
		"\x5f\x41\xff\xd1\x89\xc7\x31\xc0\xb0\x3c\x0f\x05\xf4\xc3\x90";
	const struct stub_code code = {
		.code = (const uint8_t *)clone, .size = sizeof(clone) - 1, .vaddr = VADDR};
	struct stubs rows = {0};

	unwind_arch_x86_64.add_frames(&rows, &code);
	assert_int_equal(rule_at(&rows, 0x0c).cfa_kind, UNWIND_CFA_NONE);
	assert_int_equal(rule_at(&rows, 0x0d).cfa_kind, UNWIND_CFA_CLONE);
	assert_int_equal(rule_at(&rows, 0x11).cfa_kind, UNWIND_CFA_END);
	assert_int_equal(rule_at(&rows, 0x16).cfa_kind, UNWIND_CFA_END);
	assert_int_equal(rule_at(&rows, 0x1f).cfa_kind, UNWIND_CFA_END);
	assert_int_equal(cfa_at(&rows, 0x20), 8);
	assert_int_equal(rule_at(&rows, 0x21).cfa_kind, UNWIND_CFA_NONE);
	stubs_release(&rows);
}

#define SIZE_OF(bytes) size_of(bytes, sizeof(bytes) - 1)

/* Returns the size of the function at the start of the bytes, which filling follows. */
static size_t size_of(const char *bytes, size_t size)
{
	char code[128];

	memset(code, 0x90, sizeof(code));
	memcpy(code, bytes, size);
	return frames_x86_64_size(
		&(struct stub_code){.code = (const uint8_t *)code, .size = sizeof(code)});
}

TEST(sizes_of_functions)
{
	/* xor %ebp,%ebp; call *main; hlt: what follows belongs to others */
	assert_int_equal(SIZE_OF("\x31\xed\xff\x15\xcf\x03\x20\x00\xf4\x55\x48\x89\xe5\xc3"), 9);
	/* xor %ebp,%ebp; call of the function behind the filling */
	assert_int_equal(SIZE_OF("\x31\xed\xe8\x09\x00\x00\x00"), 16);
	/* test; je to the last instruction; ret; hlt */
	assert_int_equal(SIZE_OF("\x85\xff\x74\x01\xc3\xf4"), 6);
	/* dec; jne back; jmp over data; hlt */
	assert_int_equal(SIZE_OF("\xff\xc9\x75\xfc\xeb\x04\x06\x06\x06\x06\xf4"), 128);
	/* jmp to a function far away */
	assert_int_equal(SIZE_OF("\xe9\x00\x10\x00\x00"), 5);
	/* no end */
	assert_int_equal(SIZE_OF("\x31\xed"), 128);
}

/* A program's own function follows its entry at once. */
TEST(functions_behind_the_entry)
{
	const struct code_range all = {VADDR, VADDR + 0x80};
	char code[0x80];
	struct compile_input input = {
		.arch = &unwind_arch_x86_64,
		.code = &all,
		.code_count = 1,
		.read_code = read_code,
		.ctx = code,
		.derived = all,
		.entry = VADDR,
	};
	struct unwind_rules rules;
	struct unwind_table table = {0};

	memset(code, 0x90, sizeof(code));
	memcpy(code, "\xff\x15\xcf\x03\x20\x00\xf4", 7); /* call *main; hlt */
	memcpy(code + 0x10, plain, sizeof(plain) - 1);
	unwind_rules_init(&rules);
	assert_int_equal(compile_table(&input, &rules, &table, NULL), 0);
	assert_true(table.has_entry);
	assert_int_equal(unwind_table_find(&table, VADDR + 5), UNWIND_RULE_END);
	assert_int_equal(rules.rows.items[unwind_table_find(&table, VADDR + 0x14)].cfa_offset, 32);
	unwind_table_release(&table);
	table = (struct unwind_table){0};
	input.entry = VADDR + 0x100;
	assert_int_equal(compile_table(&input, &rules, &table, NULL), 0);
	assert_false(table.has_entry);
	unwind_table_release(&table);
	unwind_rules_release(&rules);
}
