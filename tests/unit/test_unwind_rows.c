/* SPDX-License-Identifier: MIT */
/* Rows, pages and rules of a table; rules for code without CFI. */

#include <stdlib.h>
#include <string.h>

#include "lib/code/unwind/unwind_rows.h"
#include "tests/unit/cfi_bytes.h"
#include "tests/unwind_table_find.h"
#include "tests/unit/test.h"

TEST(rules_are_interned)
{
	struct unwind_rules rules;
	struct unwind_rule rule = {.cfa_kind = UNWIND_CFA_REG, .cfa_offset = 8};
	struct unwind_rule end = {.cfa_kind = UNWIND_CFA_END};
	uint16_t id;

	unwind_rules_init(&rules);
	assert_int_equal(rules.rows.count, UNWIND_RULE_FIRST);
	assert_int_equal(rules.rows.items[UNWIND_RULE_NONE].cfa_kind, UNWIND_CFA_NONE);
	assert_int_equal(rules.rows.items[UNWIND_RULE_END].cfa_kind, UNWIND_CFA_END);
	assert_int_equal(unwind_rules_intern(&rules, &end), UNWIND_RULE_END);
	id = unwind_rules_intern(&rules, &rule);
	assert_int_equal(id, UNWIND_RULE_FIRST);
	assert_int_equal(unwind_rules_intern(&rules, &rule), id);
	rule.base_offset = 1;
	assert_int_equal(unwind_rules_intern(&rules, &rule), id + 1);
	for (int i = 0; i < UNWIND_RULES_MAX; i++) {
		rule.cfa_offset = i;
		unwind_rules_intern(&rules, &rule);
	}
	assert_int_equal(rules.rows.count, UNWIND_RULES_MAX);
	rule.cfa_offset = -1;
	assert_int_equal(unwind_rules_intern(&rules, &rule), UNWIND_RULE_NONE);
	rule = (struct unwind_rule){.cfa_kind = UNWIND_CFA_REG, .cfa_offset = 8};
	assert_int_equal(unwind_rules_intern(&rules, &rule), id);
	unwind_rules_release(&rules);
}

struct plain_row {
	uint64_t vaddr;
	uint16_t rule;
};

/* Reads the rows from front to back. */
static uint16_t plain_find(const struct plain_row *rows, size_t count, uint64_t end, uint64_t vaddr)
{
	uint16_t rule = UNWIND_RULE_NONE;

	for (size_t i = 0; i < count && rows[i].vaddr <= vaddr; i++)
		rule = rows[i].rule;
	return vaddr < end ? rule : UNWIND_RULE_NONE;
}

TEST(pages_lead_to_the_right_row)
{
	static const uint64_t gaps[] = {1, 2, 7, 100, 500, 1023, 1024, 1025, 5000};
	struct plain_row rows[300];

	srand(1);
	for (int round = 0; round < 30; round++) {
		uint64_t start = 0x401000 + (uint64_t)(rand() % 2048), vaddr = start;
		struct rows *builder = calloc(1, sizeof(*builder));
		struct unwind_table table = {0};
		struct unwind_rules rules;

		unwind_rules_init(&rules);
		rows_init(builder, &table, &rules, 0);
		for (size_t i = 0; i < 300; i++) {
			rows[i].vaddr = vaddr;
			rows[i].rule = (uint16_t)(rand() % 5);
			rows_add(builder, rows[i].vaddr, rows[i].rule);
			vaddr += gaps[(size_t)rand() % (round % 9 + 1)];
		}
		rows_finish(builder, vaddr);
		assert_int_equal(table.start % UNWIND_PAGE_SIZE, 0);
		assert_int_equal(table.index.count, table.page_count + 1);
		assert_int_equal(table.index.items[table.page_count], table.rows.count);
		for (uint64_t at = start - 3000; at < vaddr + 3000; at += 1 + at % 3)
			assert_int_equal(unwind_table_find(&table, at),
					 plain_find(rows, 300, vaddr, at));
		assert_int_equal(unwind_table_find(&table, 0), UNWIND_RULE_NONE);
		assert_int_equal(unwind_table_find(&table, UINT64_MAX), UNWIND_RULE_NONE);
		unwind_table_release(&table);
		unwind_rules_release(&rules);
		free(builder);
	}
}

TEST(equal_rows_are_one)
{
	struct rows *builder = calloc(1, sizeof(*builder));
	struct unwind_table table = {0};
	struct unwind_rules rules;

	unwind_rules_init(&rules);
	rows_init(builder, &table, &rules, 0);
	rows_add(builder, 0x1000, 2);
	rows_add(builder, 0x1010, 2);
	rows_add(builder, 0x5000, 2);
	rows_finish(builder, 0x6000);
	assert_int_equal(table.rows.count, 1);
	assert_int_equal(table.page_count, 20);
	assert_int_equal(unwind_table_find(&table, 0x5fff), 2);
	unwind_table_release(&table);
	unwind_rules_release(&rules);
	free(builder);
}

TEST(a_table_without_rows)
{
	struct cfi_fixture *f = cfi_fixture_new();

	assert_int_equal(cfi_fixture_compile(f), 0);
	assert_int_equal(f->table.page_count, 0);
	assert_int_equal(f->table.stats.rows, 0);
	assert_int_equal(f->table.stats.malformed, 0);
	assert_int_equal(unwind_table_find(&f->table, 0x1000), UNWIND_RULE_NONE);
	cfi_fixture_free(f);
}

static void add_stub(struct cfi_fixture *f, enum stub_kind kind, uint64_t vaddr, const void *bytes,
		     size_t size)
{
	struct stub_code code = {.kind = kind, .code = bytes, .size = size, .vaddr = vaddr};

	stubs_add(&f->stubs, f->arch, &code);
}

#define ADD_STUB(f, kind, vaddr, text) add_stub(f, kind, vaddr, text, sizeof(text) - 1)

TEST(stubs_of_x86_64)
{
	struct cfi_fixture *f = cfi_fixture_new();
	struct unwind_rule rule;

	f->arch = &unwind_arch_x86_64;
	ADD_STUB(f, STUB_INIT_FINI, 0x2000,
		 "\xf3\x0f\x1e\xfa\x48\x83\xec\x08\x90\x90\x48\x83\xc4\x08\xc3");
	ADD_STUB(f, STUB_INIT_FINI, 0x1000, "\x48\x83\xec\x08\x48\x83\xc4\x08\xc3");
	ADD_STUB(f, STUB_INIT_FINI, 0x3000, "\x48\x83\xec\x18\x48\x83\xc4\x18\xc3");
	ADD_STUB(f, STUB_PLT_JUMPS, 0x1040, "\xff\x25\x01\x02\x03\x04\x66\x90");
	ADD_STUB(f, STUB_PLT, 0x1010,
		 "\xff\x35\x00\x00\x00\x00\xff\x25\x00\x00\x00\x00\x0f\x1f\x40\x00"
		 "\xff\x25\x00\x00\x00\x00\x68\x00\x00\x00\x00\xe9\xe0\xff\xff\xff");
	stubs_sort(&f->stubs);
	assert_int_equal(cfi_fixture_compile(f), 0);
	/* .init: before, between and after its two instructions. */
	assert_int_equal(cfi_fixture_offset(f, 0x1003), 8);
	assert_int_equal(cfi_fixture_offset(f, 0x1004), 16);
	assert_int_equal(cfi_fixture_offset(f, 0x1007), 16);
	assert_int_equal(cfi_fixture_offset(f, 0x1008), 8);
	assert_int_equal(cfi_fixture_offset(f, 0x1009), -1);
	assert_int_equal(cfi_fixture_offset(f, 0x2007), 8);
	assert_int_equal(cfi_fixture_offset(f, 0x2008), 16);
	assert_int_equal(cfi_fixture_offset(f, 0x200e), 8);
	assert_int_equal(cfi_fixture_offset(f, 0x3000), -1);
	/* The PLT: its first entry, then the others. */
	assert_int_equal(cfi_fixture_offset(f, 0x1010), 16);
	assert_int_equal(cfi_fixture_offset(f, 0x1016), 24);
	rule = cfi_fixture_rule(f, 0x1020);
	assert_int_equal(rule.cfa_kind, UNWIND_CFA_PLT);
	assert_int_equal(rule.cfa_offset, 11);
	assert_int_equal(rule.ra_offset, -1);
	assert_int_equal(cfi_fixture_offset(f, 0x1030), -1);
	assert_int_equal(cfi_fixture_offset(f, 0x1040), 8);
	assert_int_equal(cfi_fixture_offset(f, 0x1048), -1);
	assert_int_equal(f->table.stats.unsupported, 0);
	cfi_fixture_free(f);
}

/* FDEs win; stubs fill gaps, and the space in front and behind. */
TEST(stubs_between_fdes)
{
	struct cfi_fixture *f = cfi_fixture_new();
	size_t cie = put_usual_cie(&f->section, &unwind_arch_x86_64);

	f->arch = &unwind_arch_x86_64;
	ADD_STUB(f, STUB_PLT_JUMPS, 0x1000, "\xff\x25\x01\x02\x03\x04\x66\x90");
	ADD_STUB(f, STUB_PLT_JUMPS, 0x1100, "\xff\x25\x01\x02\x03\x04\x66\x90");
	ADD_STUB(f, STUB_PLT_JUMPS, 0x1180, "\xff\x25\x01\x02\x03\x04\x66\x90");
	ADD_STUB(f, STUB_PLT_JUMPS, 0x1188, "\xff\x25\x01\x02\x03\x04\x66\x90");
	ADD_STUB(f, STUB_PLT_JUMPS, 0x1300, "\xff\x25\x01\x02\x03\x04\x66\x90");
	stubs_sort(&f->stubs);
	assert_int_equal(f->stubs.rows.count, 9); /* adjacent to the next one */
	cfi_fixture_put_fde(f, cie, 0x1080, 0x100, 32);
	cfi_fixture_put_fde(f, cie, 0x1200, 0x10, 48);
	assert_int_equal(cfi_fixture_compile(f), 0);
	assert_int_equal(cfi_fixture_offset(f, 0x1000), 8);
	assert_int_equal(cfi_fixture_offset(f, 0x1008), -1);
	assert_int_equal(cfi_fixture_offset(f, 0x1104), 32);
	assert_int_equal(cfi_fixture_offset(f, 0x1180), 8);
	assert_int_equal(cfi_fixture_offset(f, 0x1188), 8);
	assert_int_equal(cfi_fixture_offset(f, 0x1190), -1);
	assert_int_equal(cfi_fixture_offset(f, 0x1200), 48);
	assert_int_equal(cfi_fixture_offset(f, 0x1210), -1);
	assert_int_equal(cfi_fixture_offset(f, 0x1307), 8);
	assert_int_equal(cfi_fixture_offset(f, 0x1308), -1);
	cfi_fixture_free(f);
}

/* Signal handlers return to code that has no CFI in musl, and that of a function in Zig. */
TEST(restorers)
{
	struct cfi_fixture *f = cfi_fixture_new();
	size_t cie = put_usual_cie(&f->section, &unwind_arch_x86_64);
	struct unwind_rule rule;

	f->arch = &unwind_arch_x86_64;
	ADD_STUB(f, STUB_RESTORERS, 0x1000,
		 "\xc3\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05\x90\x90\x90\x90\x90\xc3"
		 "\xb8\x0f\x00\x00\x00\x0f\x05\xc3\xb8\x0f\x00\x00\x00\xcd\x80\xc3"
		 "\xb8\x0f\x00\x00\x00\x0f\x05\xc3");
	stubs_sort(&f->stubs);
	cfi_fixture_put_fde(f, cie, 0x1010, 0x7, 16);
	cfi_fixture_put_fde(f, cie, 0x1018, 0x10, 32);
	assert_int_equal(cfi_fixture_compile(f), 0);
	for (uint64_t at = 0x1000; at < 0x100a; at++) {
		rule = cfi_fixture_rule(f, at);
		assert_int_equal(rule.flags, UNWIND_SIGNAL_FRAME);
		assert_int_equal(rule.cfa_kind, UNWIND_CFA_DEREF);
		assert_int_equal(rule.cfa_deref * 8, 160);
		assert_int_equal(rule.ra_offset * 8, 168);
	}
	assert_int_equal(cfi_fixture_offset(f, 0x100a), -1);
	assert_int_equal(cfi_fixture_offset(f, 0x100e), -1);
	assert_int_equal(cfi_fixture_rule(f, 0x100f).flags, UNWIND_SIGNAL_FRAME);
	assert_int_equal(cfi_fixture_rule(f, 0x1016).flags, UNWIND_SIGNAL_FRAME);
	assert_int_equal(cfi_fixture_offset(f, 0x1017), -1);
	/* Within a function: a system call like others. */
	assert_int_equal(cfi_fixture_offset(f, 0x1020), 32);
	assert_int_equal(cfi_fixture_offset(f, 0x1027), 32);
	cfi_fixture_free(f);
}

/* Zig's CFI does not tell that a program's first function has no caller. */
TEST(the_entry_of_a_program)
{
	struct cfi_fixture *f = cfi_fixture_three(3);

	f->entry = 0x1200;
	assert_int_equal(cfi_fixture_compile(f), 0);
	assert_int_equal(cfi_fixture_offset(f, 0x1100), 16);
	assert_int_equal(cfi_fixture_rule(f, 0x1200).cfa_kind, UNWIND_CFA_END);
	assert_int_equal(cfi_fixture_rule(f, 0x123f).cfa_kind, UNWIND_CFA_END);
	assert_int_equal(cfi_fixture_offset(f, 0x1240), -1);
	assert_int_equal(cfi_fixture_offset(f, 0x1300), 48);
	cfi_fixture_free(f);
}

static void add_insns(struct cfi_fixture *f, enum stub_kind kind, uint64_t vaddr,
		      const uint32_t *insns, size_t count)
{
	add_stub(f, kind, vaddr, insns, count * sizeof(*insns));
}

#define ADD_INSNS(f, kind, vaddr, ...) \
	add_insns(f, kind, vaddr, (const uint32_t[]){__VA_ARGS__}, \
		  sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

TEST(stubs_of_arm64)
{
	struct cfi_fixture *f = cfi_fixture_new();
	struct unwind_rule rule;

	f->arch = &unwind_arch_aarch64;
	/* paciasp; stp x29, x30; mov x29, sp; ldp; autiasp; ret */
	ADD_INSNS(f, STUB_INIT_FINI, 0x1000, 0xd503233f, 0xa9bf7bfd, 0x910003fd, 0xa8c17bfd,
		  0xd50323bf, 0xd65f03c0);
	/* stp x16, x30, and seven more; then entries */
	ADD_INSNS(f, STUB_PLT, 0x1020, 0xa9bf7bf0, 0xd503201f, 0xd503201f, 0xd503201f, 0xd503201f,
		  0xd503201f, 0xd503201f, 0xd503201f, 0x90000090, 0xf9464211, 0x91320210,
		  0xd61f0220);
	stubs_sort(&f->stubs);
	assert_int_equal(cfi_fixture_compile(f), 0);
	rule = cfi_fixture_rule(f, 0x1004);
	assert_int_equal(rule.cfa_offset, 0);
	assert_int_equal(rule.flags, UNWIND_RA_SIGNED);
	assert_int_equal(UNWIND_RA_KIND(rule.kinds), UNWIND_SAME);
	assert_int_equal(rule.ra_offset, UNWIND_REG_RA);
	rule = cfi_fixture_rule(f, 0x1008);
	assert_int_equal(rule.cfa_offset, 16);
	assert_int_equal(rule.ra_offset, -1);
	assert_int_equal(rule.fp_offset, -2);
	assert_int_equal(cfi_fixture_rule(f, 0x1010).flags, UNWIND_RA_SIGNED);
	assert_int_equal(cfi_fixture_rule(f, 0x1014).flags, 0);
	assert_int_equal(cfi_fixture_offset(f, 0x1018), -1);
	assert_int_equal(cfi_fixture_offset(f, 0x1020), 0);
	rule = cfi_fixture_rule(f, 0x1024);
	assert_int_equal(rule.cfa_offset, 16);
	assert_int_equal(UNWIND_RA_KIND(rule.kinds), UNWIND_AT_CFA);
	assert_int_equal(UNWIND_FP_KIND(rule.kinds), UNWIND_SAME);
	assert_int_equal(cfi_fixture_offset(f, 0x1040), 0);
	assert_int_equal(cfi_fixture_offset(f, 0x1050), -1);
	cfi_fixture_free(f);
}

/* Leaf functions before the trampoline, then the same with a function that has a frame. */
TEST(vdso_of_arm64)
{
	static const uint32_t frames[] = {
		0xd503201f, /* nop */
		0x94000001, /* bl */
		0xd63f0000, /* blr x0 */
		0xa9bf7bfd, /* stp x29, x30, [sp, #-16]! */
		0xd10083ff, /* sub sp, sp, #32 */
		0xf81f0ffe, /* str x30, [sp, #-16]! */
		0x9100001f, /* mov sp, x0 */
		0xaa0003fe, /* mov x30, x0 */
		0xa94043fe, /* ldp x30, x16, [sp] */
		0x927cec1f, /* and sp, x0, #~15 */
	};

	for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
		struct cfi_fixture *f = cfi_fixture_new();
		struct unwind_rule rule;

		f->arch = &unwind_arch_aarch64;
		/* add x4, sp, x4; tst w2, #0x60; b; frames[i]; svc; ret; nop; the trampoline; ret
		 */
		ADD_INSNS(f, STUB_TEXT, 0x1000, 0x8b2463e4, 0x721b045f, 0x17fffffd, frames[i],
			  0xd4000001, 0xd65f03c0, 0xd503201f, 0xd2801168, 0xd4000001, 0xd65f03c0);
		stubs_sort(&f->stubs);
		assert_int_equal(cfi_fixture_compile(f), 0);
		assert_int_equal(cfi_fixture_offset(f, 0x1000), i == 0 ? 0 : -1);
		assert_int_equal(cfi_fixture_offset(f, 0x1017), i == 0 ? 0 : -1);
		rule = cfi_fixture_rule(f, 0x1018);
		assert_int_equal(rule.flags, UNWIND_SIGNAL_FRAME);
		assert_int_equal(rule.cfa_kind, UNWIND_CFA_DEREF);
		assert_int_equal(cfi_fixture_rule(f, 0x1023).flags, UNWIND_SIGNAL_FRAME);
		assert_int_equal(cfi_fixture_offset(f, 0x1024), i == 0 ? 0 : -1);
		assert_int_equal(cfi_fixture_offset(f, 0x1028), -1);
		cfi_fixture_free(f);
	}
}
