/* SPDX-License-Identifier: MIT */
/* Expressions of CFI alone: their results for two registers. */

#include <string.h>

#include "lib/code/unwind/cfi_state.h"
#include "tests/unit/test.h"

#define PC 16

static struct expression recognize(const char *code, size_t size)
{
	struct bytes b;

	bytes_init(&b, code, size);
	return expression_recognize(b, PC, EXPRESSION_NO_REG, 8);
}

#define RECOGNIZE(code) recognize((code), sizeof(code) - 1)

static void check_element(struct expression e, int64_t before, int64_t after)
{
	assert_int_equal(e.kind, EXPRESSION_INDEXED);
	assert_int_equal(e.reg, 7);
	assert_int_equal(e.index, 9);
	assert_int_equal(e.before, before);
	assert_int_equal(e.after, after);
}

/* The expression of OpenSSL's Montgomery multiplication, and the same in other ways. */
TEST(element_of_array)
{
	check_element(RECOGNIZE("\x77\x08\x79\x00\x38\x1e\x22\x06\x23\x08"), 8, 8);
	check_element(RECOGNIZE("\x77\x00\x79\x00\x38\x1e\x22\x06"), 0, 0);
	check_element(RECOGNIZE("\x77\x08\x79\x00\x33\x24\x22\x06\x23\x08"), 8, 8); /* << 3 */
	check_element(RECOGNIZE("\x77\x00\x79\x00\x38\x1e\x22\x23\x28\x06"), 40, 0);
}

TEST(no_element_of_array)
{
	/*
	 * Elements of 4 bytes; an index other than the register's value; an index that is the pc.
	 */
	assert_int_equal(RECOGNIZE("\x77\x08\x79\x00\x34\x1e\x22\x06").kind, EXPRESSION_OTHER);
	assert_int_equal(RECOGNIZE("\x77\x08\x79\x01\x38\x1e\x22\x06").kind, EXPRESSION_OTHER);
	assert_int_equal(RECOGNIZE("\x77\x08\x80\x00\x38\x1e\x22\x06").kind, EXPRESSION_OTHER);
	/* The address itself; the sum of two registers; a product alone. */
	assert_int_equal(RECOGNIZE("\x77\x08\x79\x00\x38\x1e\x22").kind, EXPRESSION_OTHER);
	assert_int_equal(RECOGNIZE("\x77\x08\x79\x00\x22\x06").kind, EXPRESSION_OTHER);
	assert_int_equal(RECOGNIZE("\x79\x00\x38\x1e").kind, EXPRESSION_OTHER);
	/* Twice. */
	assert_int_equal(RECOGNIZE("\x77\x08\x79\x00\x38\x1e\x22\x79\x00\x38\x1e\x22\x06").kind,
			 EXPRESSION_OTHER);
}

/* The expression with which OCaml goes from a fiber to its parent. */
TEST(loaded_twice)
{
	struct expression e = RECOGNIZE("\x77\x38\x06\x23\x10\x06\x23\x08");

	assert_int_equal(e.kind, EXPRESSION_DEREF_TWICE);
	assert_int_equal(e.reg, 7);
	assert_int_equal(e.before, 56);
	assert_int_equal(e.between, 16);
	assert_int_equal(e.after, 8);
	e = RECOGNIZE("\x77\x38\x06\x06");
	assert_int_equal(e.kind, EXPRESSION_DEREF_TWICE);
	assert_int_equal(e.between, 0);
	assert_int_equal(e.after, 0);
	/* Three times; once of an element. */
	assert_int_equal(RECOGNIZE("\x77\x38\x06\x06\x06").kind, EXPRESSION_OTHER);
	assert_int_equal(RECOGNIZE("\x77\x08\x79\x00\x38\x1e\x22\x06\x06").kind, EXPRESSION_OTHER);
}

TEST(long_ones_are_not_read)
{
	char code[EXPRESSION_MAX_SIZE + 1];

	memset(code, 0x96, sizeof(code)); /* DW_OP_nop */
	memcpy(code, "\x77\x08", 2);
	assert_int_equal(recognize(code, EXPRESSION_MAX_SIZE).kind, EXPRESSION_REG);
	assert_int_equal(recognize(code, EXPRESSION_MAX_SIZE + 1).kind, EXPRESSION_OTHER);
}
