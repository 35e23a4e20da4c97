/* SPDX-License-Identifier: MIT */
/* Rows of .sframe. */

#include <string.h>

#include "lib/code/unwind/arch.h"
#include "lib/code/unwind/sframe.h"
#include "tests/unit/sframe_bytes.h"
#include "tests/unit/test.h"

#define VADDR 0x402000
#define CODE 0x401000

static struct stubs read_section(const uint8_t *section, size_t size)
{
	struct stubs stubs = {0};

	sframe_add(&stubs, &unwind_arch_x86_64, section, size, VADDR);
	stubs_sort(&stubs);
	return stubs;
}

static void expect(const struct stubs *stubs, size_t number, uint64_t vaddr, int kind, int reg,
		   int offset)
{
	const struct stub_row *row = &stubs->rows.items[number];

	assert_true(number < stubs->rows.count);
	assert_int_equal(row->vaddr, vaddr);
	assert_int_equal(row->rule.cfa_kind, kind);
	if (kind != UNWIND_CFA_REG)
		return;
	assert_int_equal(row->rule.cfa_reg, reg);
	assert_int_equal(row->rule.cfa_offset, offset);
	assert_int_equal(row->rule.ra_offset, -1);
}

TEST(rows_of_functions)
{
	uint8_t section[SFRAME_SIZE];
	struct stubs stubs;

	sframe_make(section, VADDR, CODE);
	stubs = read_section(section, sizeof(section));
	assert_int_equal(stubs.rows.count, 6);
	expect(&stubs, 0, CODE, UNWIND_CFA_REG, UNWIND_REG_SP, 8);
	expect(&stubs, 1, CODE + 1, UNWIND_CFA_REG, UNWIND_REG_SP, 16);
	assert_int_equal(UNWIND_FP_KIND(stubs.rows.items[1].rule.kinds), UNWIND_AT_CFA);
	assert_int_equal(stubs.rows.items[1].rule.fp_offset, -2);
	expect(&stubs, 2, CODE + 4, UNWIND_CFA_REG, UNWIND_REG_FP, 16);
	expect(&stubs, 3, CODE + 14, UNWIND_CFA_REG, UNWIND_REG_SP, 8);
	assert_int_equal(UNWIND_FP_KIND(stubs.rows.items[3].rule.kinds), UNWIND_SAME);
	expect(&stubs, 4, CODE + 16, UNWIND_CFA_END, 0, 0);
	expect(&stubs, 5, CODE + 24, UNWIND_CFA_NONE, 0, 0);
	stubs_release(&stubs);
}

TEST(sections_that_are_not_read)
{
	static const struct {
		size_t at;
		uint8_t value;
		size_t rows; /* left */
	} changes[] = {
		{0, 0, 0}, /* magic */
		{2, 2, 0}, /* version */
		{4, 2, 0}, /* machine */
		{62, 0x80, 2}, /* a signal's frame */
		{62, 0x10, 2}, /* a stub */
		{63, 1, 2}, /* rules of the flexible kind */
		{62, 3, 2}, /* offsets of no size */
		{43, 0xff, 2}, /* rows elsewhere */
	};
	uint8_t section[SFRAME_SIZE];

	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		struct stubs stubs;

		sframe_make(section, VADDR, CODE);
		section[changes[i].at] = changes[i].value;
		stubs = read_section(section, sizeof(section));
		assert_int_equal(stubs.rows.count, changes[i].rows);
		stubs_release(&stubs);
	}
	/* Cut anywhere, it is no reason to read beyond. */
	sframe_make(section, VADDR, CODE);
	for (size_t size = 0; size < sizeof(section); size++) {
		struct stubs stubs = read_section(section, size);

		assert_true(stubs.rows.count <= 6);
		stubs_release(&stubs);
	}
}
