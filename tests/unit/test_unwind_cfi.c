/* SPDX-License-Identifier: MIT */
/* The instructions of CFI, one by one, and the expressions that rules can express. */

#include <stdlib.h>
#include <string.h>

#include "tests/unit/cfi_bytes.h"
#include "tests/unit/test.h"

/* Code of the FDE of each case; its rule is looked up at START + 16. */
#define START 0x1100
#define SIZE 64

#define KINDS(ra, fp, base) (UNWIND_##ra | UNWIND_##fp << 2 | UNWIND_##base << 4)
/* Versions of clang-format disagree about braces in macros. */
/* clang-format off */
/* CFA = reg + offset, return address at CFA - 8, nothing else changes. */
#define CFA(reg, offset) \
	{ \
		.cfa_kind = UNWIND_CFA_REG, .cfa_reg = UNWIND_REG_##reg, .cfa_offset = (offset), \
		.kinds = KINDS(AT_CFA, SAME, SAME), .ra_offset = -1 \
	}
#define OTHER(n) (UNWIND_REG_OTHER + (n))
#define NONE {.cfa_kind = UNWIND_CFA_NONE}
#define END {.cfa_kind = UNWIND_CFA_END}
/* clang-format on */
#define PROGRAM(bytes) .program = bytes, .size = sizeof(bytes) - 1

struct op_case {
	const char *what;
	const char *program;
	size_t size;
	struct unwind_rule rule;
	bool is_malformed;
};

static const struct op_case x86_64_cases[] = {
	{"nop", PROGRAM("\x00\x00"), CFA(SP, 8)},
	{"def_cfa", PROGRAM("\x0c\x06\x10"), CFA(FP, 16)},
	{"def_cfa of another register",
	 PROGRAM("\x0c\x0a\x00"),
	 {.cfa_kind = UNWIND_CFA_REG,
	  .cfa_reg = OTHER(10),
	  .kinds = KINDS(AT_CFA, SAME, SAME),
	  .ra_offset = -1}},
	{"def_cfa of no general register", PROGRAM("\x0c\x11\x08"), NONE},
	{"def_cfa_register", PROGRAM("\x0d\x03"), CFA(BASE, 8)},
	{"def_cfa_offset", PROGRAM("\x0e\x20"), CFA(SP, 32)},
	{"def_cfa_offset of two bytes", PROGRAM("\x0e\x90\x01"), CFA(SP, 144)},
	{"def_cfa_offset of five bytes", PROGRAM("\x0e\x88\x80\x80\x80\x01"),
	 CFA(SP, 8 + (1 << 28))},
	{"def_cfa_offset beyond 32 bits", PROGRAM("\x0e\x80\x80\x80\x80\x08"), NONE},
	{"def_cfa_sf", PROGRAM("\x12\x06\x7e"), CFA(FP, 16)},
	{"def_cfa_offset_sf", PROGRAM("\x13\x7d"), CFA(SP, 24)},
	{"offset rbp",
	 PROGRAM("\x86\x02"),
	 {.cfa_kind = UNWIND_CFA_REG,
	  .cfa_offset = 8,
	  .kinds = KINDS(AT_CFA, AT_CFA, SAME),
	  .ra_offset = -1,
	  .fp_offset = -2}},
	{"offset rbx",
	 PROGRAM("\x83\x82\x01"),
	 {.cfa_kind = UNWIND_CFA_REG,
	  .cfa_offset = 8,
	  .kinds = KINDS(AT_CFA, SAME, AT_CFA),
	  .ra_offset = -1,
	  .base_offset = -130}},
	{"offset of registers that nobody needs", PROGRAM("\x8c\x02\x8f\x83\x01"), CFA(SP, 8)},
	{"offset as far away as can be",
	 PROGRAM("\x11\x03\x80\x80\x02"),
	 {.cfa_kind = UNWIND_CFA_REG,
	  .cfa_offset = 8,
	  .kinds = KINDS(AT_CFA, SAME, AT_CFA),
	  .ra_offset = -1,
	  .base_offset = INT16_MIN}},
	{"and beyond",
	 PROGRAM("\x11\x03\x80\x80\x7e"),
	 {.cfa_kind = UNWIND_CFA_REG,
	  .cfa_offset = 8,
	  .kinds = KINDS(AT_CFA, SAME, UNKNOWN),
	  .ra_offset = -1}},
	{"offset too far away",
	 PROGRAM("\x86\x81\x80\x02"),
	 {.cfa_kind = UNWIND_CFA_REG,
	  .cfa_offset = 8,
	  .kinds = KINDS(AT_CFA, UNKNOWN, SAME),
	  .ra_offset = -1}},
	{"offset_extended",
	 PROGRAM("\x05\x06\x03"),
	 {.cfa_kind = UNWIND_CFA_REG,
	  .cfa_offset = 8,
	  .kinds = KINDS(AT_CFA, AT_CFA, SAME),
	  .ra_offset = -1,
	  .fp_offset = -3}},
	{"offset_extended_sf",
	 PROGRAM("\x11\x10\x7e"),
	 {.cfa_kind = UNWIND_CFA_REG,
	  .cfa_offset = 8,
	  .kinds = KINDS(AT_CFA, SAME, SAME),
	  .ra_offset = 2}},
	{"GNU_negative_offset_extended",
	 PROGRAM("\x2f\x06\x03"),
	 {.cfa_kind = UNWIND_CFA_REG,
	  .cfa_offset = 8,
	  .kinds = KINDS(AT_CFA, AT_CFA, SAME),
	  .ra_offset = -1,
	  .fp_offset = 3}},
	{"restore", PROGRAM("\x86\x02\x83\x03\xc6\xc3"), CFA(SP, 8)},
	{"restore_extended", PROGRAM("\x86\x02\x06\x06"), CFA(SP, 8)},
	{"undefined rbp",
	 PROGRAM("\x07\x06"),
	 {.cfa_kind = UNWIND_CFA_REG,
	  .cfa_offset = 8,
	  .kinds = KINDS(AT_CFA, UNKNOWN, SAME),
	  .ra_offset = -1}},
	{"undefined return address", PROGRAM("\x07\x10"), END},
	{"undefined, then restored", PROGRAM("\x07\x10\xd0"), CFA(SP, 8)},
	{"same_value", PROGRAM("\x86\x02\x08\x06"), CFA(SP, 8)},
	{"same_value of what is no register", PROGRAM("\x08\x10"), NONE},
	{"register: the return address in rdi",
	 PROGRAM("\x0e\x00\x09\x10\x05"),
	 {.cfa_kind = UNWIND_CFA_REG,
	  .kinds = KINDS(SAME, SAME, SAME),
	  .ra_offset = UNWIND_REG_OTHER + 5}},
	{"register: rbp elsewhere",
	 PROGRAM("\x09\x06\x09"),
	 {.cfa_kind = UNWIND_CFA_REG,
	  .cfa_offset = 8,
	  .kinds = KINDS(AT_CFA, UNKNOWN, SAME),
	  .ra_offset = -1}},
	{"register: sp is not the CFA", PROGRAM("\x09\x07\x08"), NONE},
	{"val_offset: sp is the CFA", PROGRAM("\x14\x07\x00"), CFA(SP, 8)},
	{"val_offset: it is not", PROGRAM("\x14\x07\x01"), NONE},
	{"val_offset_sf rbp",
	 PROGRAM("\x15\x06\x01"),
	 {.cfa_kind = UNWIND_CFA_REG,
	  .cfa_offset = 8,
	  .kinds = KINDS(AT_CFA, UNKNOWN, SAME),
	  .ra_offset = -1}},
	{"val_expression of the return address", PROGRAM("\x16\x10\x02\x77\x08"), NONE},
	{"val_expression of r12", PROGRAM("\x16\x0c\x02\x77\x08"), CFA(SP, 8)},
	{"GNU_args_size", PROGRAM("\x2e\x20"), CFA(SP, 8)},
	{"remember and restore state", PROGRAM("\x0a\x86\x02\x0e\x10\x0a\x0e\x18\x0b\x0b"),
	 CFA(SP, 8)},
	{"a CFA that can be told after one that cannot", PROGRAM("\x0f\x01\x30\x0c\x06\x10"),
	 CFA(FP, 16)},
	{"restore_state without one", PROGRAM("\x0b"), NONE, true},
	{"window_save of another machine", PROGRAM("\x2d"), NONE, true},
	{"an unknown instruction", PROGRAM("\x3f"), NONE, true},
	{"an operand that is cut", PROGRAM("\x0e\x80\x80\x80"), NONE, true},
	{"a number beyond 64 bits", PROGRAM("\x2e\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f"), NONE,
	 true},
	{"an expression beyond the end", PROGRAM("\x0f\x7f\x77"), NONE, true},
	{"a block of impossible size",
	 PROGRAM("\x16\x0c\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00"), NONE, true},
};

static const struct op_case expression_cases[] = {
	{"reg + a", PROGRAM("\x0f\x02\x76\x10"), CFA(FP, 16)},
	{"bregx + a", PROGRAM("\x0f\x03\x92\x07\x18"), CFA(SP, 24)},
	{"reg + a + b", PROGRAM("\x0f\x04\x77\x08\x23\x10"), CFA(SP, 24)},
	{"constant + reg", PROGRAM("\x0f\x05\x08\x20\x77\x00\x22"), CFA(SP, 32)},
	{"reg - constant", PROGRAM("\x0f\x05\x77\x20\x09\x10\x1c"), CFA(SP, 16)},
	{"constants of all forms",
	 PROGRAM("\x0f\x2a\x77\x00\x08\x01\x22\x09\x01\x22\x0a\x01\x00\x22\x0b\x01\x00\x22"
		 "\x0c\x01\x00\x00\x00\x22\x0d\x01\x00\x00\x00\x22"
		 "\x0e\x01\x00\x00\x00\x00\x00\x00\x00\x22\x10\x01\x22\x96"),
	 CFA(SP, 8)},
	{"*(rbp - 8), as after realigning",
	 PROGRAM("\x0f\x03\x76\x78\x06"),
	 {.cfa_kind = UNWIND_CFA_DEREF,
	  .cfa_reg = UNWIND_REG_FP,
	  .cfa_deref = -1,
	  .kinds = KINDS(AT_CFA, SAME, SAME),
	  .ra_offset = -1}},
	{"*(rsp + 152) + 8",
	 PROGRAM("\x0f\x06\x77\x98\x01\x06\x23\x08"),
	 {.cfa_kind = UNWIND_CFA_DEREF,
	  .cfa_deref = 19,
	  .cfa_offset = 8,
	  .kinds = KINDS(AT_CFA, SAME, SAME),
	  .ra_offset = -1}},
	{"*(*(rsp + 56) + 8) + 8",
	 PROGRAM("\x0f\x08\x77\x38\x06\x23\x08\x06\x23\x08"),
	 {.cfa_kind = UNWIND_CFA_DEREF_TWICE,
	  .cfa_deref = 7,
	  .cfa_offset = 8,
	  .flags = 1 << UNWIND_INDEX_SHIFT,
	  .kinds = KINDS(AT_CFA, SAME, SAME),
	  .ra_offset = -1}},
	{"*(*(rsp + 56) + 4)", PROGRAM("\x0f\x06\x77\x38\x06\x23\x04\x06"), NONE},
	{"*(*(rsp + 56) + 512)", PROGRAM("\x0f\x07\x77\x38\x06\x23\x80\x04\x06"), NONE},
	{"*(rsp + 3)", PROGRAM("\x0f\x03\x77\x03\x06"), NONE},
	{"the linker's PLT",
	 PROGRAM("\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22"),
	 {.cfa_kind = UNWIND_CFA_PLT,
	  .cfa_offset = 11,
	  .kinds = KINDS(AT_CFA, SAME, SAME),
	  .ra_offset = -1}},
	{"a PLT of other entries", PROGRAM("\x0f\x0b\x77\x08\x80\x00\x4f\x1a\x3b\x2a\x33\x24\x22"),
	 NONE},
	{"two registers", PROGRAM("\x0f\x05\x77\x00\x76\x00\x22"), NONE},
	{"***reg", PROGRAM("\x0f\x05\x77\x08\x06\x06\x06"), NONE},
	{"a constant", PROGRAM("\x0f\x01\x38"), NONE},
	{"nothing", PROGRAM("\x0f\x00"), NONE},
	{"too few operands", PROGRAM("\x0f\x03\x77\x08\x22"), NONE},
	{"a stack that overflows", PROGRAM("\x0f\x09\x30\x30\x30\x30\x30\x30\x30\x30\x30"), NONE},
	{"an operand that is cut", PROGRAM("\x0f\x03\x77\x08\x0a"), NONE},
	{"a register behind an expression", PROGRAM("\x0f\x03\x77\x08\x06\x0d\x06"), NONE},
	{"an offset behind an expression", PROGRAM("\x0f\x03\x77\x08\x06\x0e\x10"), NONE},
	{"rbp at rbp + 0 while the CFA is r10",
	 PROGRAM("\x0c\x0a\x00\x10\x06\x02\x76\x00"),
	 {.cfa_kind = UNWIND_CFA_REG,
	  .cfa_reg = OTHER(10),
	  .kinds = KINDS(AT_CFA, AT_REG, SAME) | UNWIND_REG_FP << 6,
	  .ra_offset = -1}},
	{"rbp at rbp, rbx at rsp + 8: one of them",
	 PROGRAM("\x10\x06\x02\x76\x00\x10\x03\x02\x77\x08"),
	 {.cfa_kind = UNWIND_CFA_REG,
	  .cfa_offset = 8,
	  .kinds = KINDS(AT_CFA, AT_REG, UNKNOWN) | UNWIND_REG_FP << 6,
	  .ra_offset = -1}},
	{"rbp relative to the CFA",
	 PROGRAM("\x10\x06\x02\x23\x10"),
	 {.cfa_kind = UNWIND_CFA_REG,
	  .cfa_offset = 8,
	  .kinds = KINDS(AT_CFA, AT_CFA, SAME),
	  .ra_offset = -1,
	  .fp_offset = 2}},
	{"rbp at no whole word",
	 PROGRAM("\x10\x06\x02\x23\x04"),
	 {.cfa_kind = UNWIND_CFA_REG,
	  .cfa_offset = 8,
	  .kinds = KINDS(AT_CFA, UNKNOWN, SAME),
	  .ra_offset = -1}},
	{"rbp relative to r10",
	 PROGRAM("\x10\x06\x02\x7a\x00"),
	 {.cfa_kind = UNWIND_CFA_REG,
	  .cfa_offset = 8,
	  .kinds = KINDS(AT_CFA, UNKNOWN, SAME),
	  .ra_offset = -1}},
	{"rbp by a pointer in memory",
	 PROGRAM("\x10\x06\x03\x77\x08\x06"),
	 {.cfa_kind = UNWIND_CFA_REG,
	  .cfa_offset = 8,
	  .kinds = KINDS(AT_CFA, UNKNOWN, SAME),
	  .ra_offset = -1}},
	{"a signal frame",
	 PROGRAM("\x0f\x04\x77\xa0\x01\x06\x10\x07\x03\x77\xa0\x01\x10\x10\x03\x77\xa8\x01"
		 "\x10\x06\x03\x77\xf8\x00\x10\x03\x03\x77\x80\x01\x10\x0c\x03\x77\xc8\x00"),
	 {.cfa_kind = UNWIND_CFA_DEREF,
	  .cfa_deref = 20,
	  .kinds = KINDS(AT_REG, AT_REG, AT_REG),
	  .ra_offset = 21,
	  .fp_offset = 15,
	  .base_offset = 16}},
	{"sp saved where the CFA comes from, which is more than that",
	 PROGRAM("\x0f\x06\x77\xa0\x01\x06\x23\x08\x10\x07\x03\x77\xa0\x01"), NONE},
	{"sp saved elsewhere than where the CFA comes from",
	 PROGRAM("\x0f\x04\x77\xa0\x01\x06\x10\x07\x03\x77\xa8\x01"), NONE},
};

static const struct op_case aarch64_cases[] = {
	{"nothing",
	 PROGRAM(""),
	 {.cfa_kind = UNWIND_CFA_REG,
	  .kinds = KINDS(SAME, SAME, SAME),
	  .ra_offset = UNWIND_REG_RA}},
	{"a frame record",
	 PROGRAM("\x0e\x20\x9d\x04\x9e\x03\x93\x02"),
	 {.cfa_kind = UNWIND_CFA_REG,
	  .cfa_offset = 32,
	  .kinds = KINDS(AT_CFA, AT_CFA, AT_CFA),
	  .ra_offset = -3,
	  .fp_offset = -4,
	  .base_offset = -2}},
	{"restored",
	 PROGRAM("\x0e\x20\x9d\x04\x9e\x03\xde\xdd\x0e\x00"),
	 {.cfa_kind = UNWIND_CFA_REG,
	  .kinds = KINDS(SAME, SAME, SAME),
	  .ra_offset = UNWIND_REG_RA}},
	{"a signed return address",
	 PROGRAM("\x2d"),
	 {.cfa_kind = UNWIND_CFA_REG,
	  .kinds = KINDS(SAME, SAME, SAME),
	  .flags = UNWIND_RA_SIGNED,
	  .ra_offset = UNWIND_REG_RA}},
	{"signed, authenticated, remembered",
	 PROGRAM("\x2d\x0a\x2d\x0b\x2c"),
	 {.cfa_kind = UNWIND_CFA_REG,
	  .kinds = KINDS(SAME, SAME, SAME),
	  .ra_offset = UNWIND_REG_RA}},
	{"x29 is the CFA's",
	 PROGRAM("\x0c\x1d\x10"),
	 {.cfa_kind = UNWIND_CFA_REG,
	  .cfa_reg = UNWIND_REG_FP,
	  .cfa_offset = 16,
	  .kinds = KINDS(SAME, SAME, SAME),
	  .ra_offset = UNWIND_REG_RA}},
	{"the return address in x17",
	 PROGRAM("\x09\x1e\x11"),
	 {.cfa_kind = UNWIND_CFA_REG,
	  .kinds = KINDS(SAME, SAME, SAME),
	  .ra_offset = UNWIND_REG_OTHER + 17}},
	{"undefined return address", PROGRAM("\x07\x1e"), END},
	{"breg30 is x30 here, and no pc",
	 PROGRAM("\x0f\x02\x8e\x10"),
	 {.cfa_kind = UNWIND_CFA_REG,
	  .cfa_reg = UNWIND_REG_RA,
	  .cfa_offset = 16,
	  .kinds = KINDS(SAME, SAME, SAME),
	  .ra_offset = UNWIND_REG_RA}},
};

static void assert_rule(const char *what, struct unwind_rule rule, struct unwind_rule expected)
{
	if (memcmp(&rule, &expected, sizeof(rule)) == 0)
		return;
	print_error("%s: CFA %d of %d + %d deref %d, kinds %#x flags %d, ra %d fp %d base %d\n",
		    what, rule.cfa_kind, rule.cfa_reg, rule.cfa_offset, rule.cfa_deref, rule.kinds,
		    rule.flags, rule.ra_offset, rule.fp_offset, rule.base_offset);
	fail();
}

/* Compiles one FDE whose program takes effect after 16 bytes. */
static void compile_case(struct cfi_fixture *f, const struct op_case *c)
{
	struct cfi_bytes program = {0};

	put_u8(&program, f->arch->ra_is_register ? 0x44 : 0x50);
	put_bytes(&program, c->program, c->size);
	put_usual_fde(&f->section, put_usual_cie(&f->section, f->arch), START, SIZE, program.data,
		      program.size);
	assert_int_equal(cfi_fixture_compile(f), 0);
}

static void check_cases(const struct op_case *cases, size_t count, const struct unwind_arch *arch)
{
	for (size_t i = 0; i < count; i++) {
		const struct op_case *c = &cases[i];
		struct cfi_fixture *f = cfi_fixture_new();
		struct unwind_rule entry = stubs_rule_at_entry(arch, arch->ra_is_register ? 0 : 8);

		f->arch = arch;
		compile_case(f, c);
		assert_rule(c->what, cfi_fixture_rule(f, START + 15), entry);
		assert_rule(c->what, cfi_fixture_rule(f, START + 16), c->rule);
		assert_rule(c->what, cfi_fixture_rule(f, START + SIZE - 1), c->rule);
		assert_rule(c->what, cfi_fixture_rule(f, START + SIZE), (struct unwind_rule)NONE);
		assert_int_equal(f->table.stats.malformed, c->is_malformed);
		assert_int_equal(f->table.stats.unsupported,
				 !c->is_malformed && c->rule.cfa_kind == UNWIND_CFA_NONE);
		cfi_fixture_free(f);
	}
}

#define CHECK_CASES(cases, arch) check_cases(cases, sizeof(cases) / sizeof((cases)[0]), arch)

TEST(instructions)
{
	CHECK_CASES(x86_64_cases, &unwind_arch_x86_64);
}

TEST(expressions)
{
	CHECK_CASES(expression_cases, &unwind_arch_x86_64);
}

TEST(instructions_of_arm64)
{
	CHECK_CASES(aarch64_cases, &unwind_arch_aarch64);
}

/* All ways to advance, by 4 each: rules CFA = rsp + 8, 16, 24 … follow. */
TEST(advances)
{
	struct cfi_fixture *f = cfi_fixture_new();
	struct cfi_bytes p = {0};
	size_t cie;

	put_text(&p, "\x44\x0e\x10\x02\x04\x0e\x18\x03\x04\x00\x0e\x20\x04\x04\x00\x00\x00\x0e\x28"
		     "\x1d\x04\x00\x00\x00\x00\x00\x00\x00\x0e\x30\x01");
	cie = put_usual_cie(&f->section, &unwind_arch_x86_64);
	/* DW_CFA_set_loc, relative to itself: 17 bytes come before the program. */
	put_u32(&p, START + 24 - (CFI_VADDR + f->section.size + 17 + p.size));
	put_text(&p, "\x0e\x38\x40\x0e\x40");
	put_usual_fde(&f->section, cie, START, SIZE, p.data, p.size);
	assert_int_equal(cfi_fixture_compile(f), 0);
	for (int i = 0; i < 6; i++) {
		assert_int_equal(cfi_fixture_rule(f, START + 4 * (uint64_t)i).cfa_offset,
				 8 + 8 * i);
		assert_int_equal(cfi_fixture_rule(f, START + 4 * (uint64_t)i + 3).cfa_offset,
				 8 + 8 * i);
	}
	/* Advancing by 0 changes the current row. */
	assert_int_equal(cfi_fixture_rule(f, START + 24).cfa_offset, 64);
	assert_int_equal(f->table.stats.malformed, 0);
	assert_int_equal(f->table.stats.rows, 9);
	cfi_fixture_free(f);
}

/* Instructions past the end of the FDE's code are not run, however far the program goes. */
TEST(advances_beyond_the_end)
{
	static const struct op_case cases[] = {
		{"by 63", PROGRAM("\x7f\x0e\x20"), CFA(SP, 8)},
		{"by 255", PROGRAM("\x02\xff\x0e\x20"), CFA(SP, 8)},
		{"by 65535", PROGRAM("\x03\xff\xff\x0e\x20"), CFA(SP, 8)},
		{"by 2^32 - 1", PROGRAM("\x04\xff\xff\xff\xff\x0e\x20"), CFA(SP, 8)},
		{"by 2^32 - 1, long", PROGRAM("\x1d\xff\xff\xff\xff\x00\x00\x00\x00\x0e\x20"),
		 CFA(SP, 8)},
		{"by what is left", PROGRAM("\x70\x0e\x20\x41\x0e\x30"), CFA(SP, 8)},
		{"and rubbish", PROGRAM("\x7f\x3f"), CFA(SP, 8)},
	};
	static const struct op_case malformed[] = {
		{"by 2^64 - 1", PROGRAM("\x1d\xff\xff\xff\xff\xff\xff\xff\xff\x0e\x20"), NONE,
		 true},
		{"backwards", PROGRAM("\x01\x00\x10\xff\xff\x0e\x20"), NONE, true},
		{"cut", PROGRAM("\x04\x01\x00"), NONE, true},
	};

	CHECK_CASES(cases, &unwind_arch_x86_64);
	CHECK_CASES(malformed, &unwind_arch_x86_64);
}

/* Remembered states are limited; beyond, there is no rule instead of a wrong one. */
TEST(remembered_states_are_bounded)
{
	for (size_t depth = 15; depth <= 18; depth++) {
		struct cfi_fixture *f = cfi_fixture_new();
		char program[64];
		struct op_case c = {.program = program, .size = depth + 2};

		memset(program, 0x0a, depth);
		memcpy(program + depth, "\x0e\x10", 2);
		f->arch = &unwind_arch_x86_64;
		compile_case(f, &c);
		assert_int_equal(f->table.stats.malformed, depth > 16);
		assert_int_equal(cfi_fixture_rule(f, START + 20).cfa_offset, depth > 16 ? 0 : 16);
		cfi_fixture_free(f);
	}
}

TEST(signal_frames)
{
	const struct unwind_arch *archs[] = {&unwind_arch_x86_64, &unwind_arch_aarch64};

	for (int i = 0; i < 2; i++) {
		struct cfi_fixture *f = cfi_fixture_new();
		size_t cie = put_cie(&f->section);
		struct unwind_rule rule;

		f->arch = archs[i];
		put_u8(&f->section, 1);
		put_bytes(&f->section, "zRS", 4);
		put_uleb(&f->section, 1);
		put_sleb(&f->section, -8);
		put_u8(&f->section, archs[i]->ra_column);
		put_uleb(&f->section, 1);
		put_u8(&f->section, 0x1b);
		put_end(&f->section);
		/* CFA = x29 + 0 occurs in the vDSO of old arm64 kernels. */
		put_usual_fde(&f->section, cie, START, SIZE, "\x0c\x1d\x00\x0c\x06\x10",
			      i == 0 ? 6 : 3);
		assert_int_equal(cfi_fixture_compile(f), 0);
		rule = cfi_fixture_rule(f, START);
		assert_true(rule.flags & UNWIND_SIGNAL_FRAME);
		assert_int_equal(rule.cfa_kind, i == 0 ? UNWIND_CFA_REG : UNWIND_CFA_DEREF);
		/* struct rt_sigframe: x0 at 312, x19, x29, sp and pc from there. */
		if (i == 1) {
			assert_int_equal(rule.cfa_deref * 8, 312 + 31 * 8);
			assert_int_equal(rule.ra_offset * 8, 312 + 32 * 8);
			assert_int_equal(rule.fp_offset * 8, 312 + 29 * 8);
			assert_int_equal(rule.base_offset * 8, 312 + 19 * 8);
		}
		cfi_fixture_free(f);
	}
}
