/* SPDX-License-Identifier: MIT */
/*
 * The cursor over untrusted bytes. Inputs lie at the end of heap blocks, so that sanitizers see
 * reads beyond them.
 */

#include <stdlib.h>
#include <string.h>

#include "lib/base/bytes.h"
#include "lib/base/cleanup.h"
#include "tests/unit/test.h"

static const uint8_t counting[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

TEST(test_integers_are_little_endian)
{
	struct bytes b;

	bytes_init(&b, counting, sizeof(counting));
	assert_int_equal(bytes_u8(&b), 1);
	assert_int_equal(bytes_u16(&b), 0x0302);
	assert_int_equal(bytes_u32(&b), 0x07060504);
	assert_int_equal(bytes_u64(&b), 0x0f0e0d0c0b0a0908);
	assert_false(b.failed);
	assert_int_equal(bytes_left(&b), 0);
	assert_int_equal(bytes_position(&b), 15);
}

static uint64_t read_integer(struct bytes *b, int size)
{
	switch (size) {
	case 1:
		return bytes_u8(b);
	case 2:
		return bytes_u16(b);
	case 4:
		return bytes_u32(b);
	default:
		return bytes_u64(b);
	}
}

TEST(test_short_integers_fail)
{
	for (int size = 1; size <= 8; size *= 2) {
		for (int have = 0; have < size; have++) {
			uint8_t *data = xmemdup(counting, (size_t)have);
			struct bytes b;

			bytes_init(&b, data, (size_t)have);
			assert_int_equal(read_integer(&b, size), 0);
			assert_true(b.failed);
			assert_int_equal(bytes_left(&b), 0);
			/* After a failure, even reads that would fit fail. */
			assert_int_equal(bytes_u8(&b), 0);
			assert_null(bytes_take(&b, 0));
			free(data);
		}
	}
}

struct leb_case {
	const char *bytes;
	size_t size;
	bool fails;
	uint64_t value;
};

static void check_leb(const struct leb_case *c, bool is_signed)
{
	char *data = xmemdup(c->bytes, c->size);
	struct bytes b;
	uint64_t value;

	bytes_init(&b, data, c->size);
	value = is_signed ? (uint64_t)bytes_sleb(&b) : bytes_uleb(&b);
	assert_int_equal(b.failed, c->fails);
	assert_int_equal(value, c->fails ? 0 : c->value);
	if (!c->fails)
		assert_int_equal(bytes_left(&b), 0);
	free(data);
}

#define LEB(text, fails, value) text, sizeof(text) - 1, fails, (uint64_t)(value)

TEST(test_uleb)
{
	static const struct leb_case cases[] = {
		{LEB("\x00", false, 0)},
		{LEB("\x7f", false, 127)},
		{LEB("\x80\x01", false, 128)},
		{LEB("\xe5\x8e\x26", false, 624485)},
		{LEB("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", false, UINT64_MAX)},
		{LEB("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", false, 1ull << 63)},
		/* Padded, within 64 bits and beyond. */
		{LEB("\x85\x80\x00", false, 5)},
		{LEB("\x85\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", false, 5)},
		{LEB("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x81\x80\x00", false, 1ull << 63)},
		/* 65 bits. */
		{LEB("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02", true, 0)},
		{LEB("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", true, 0)},
		{LEB("\x85\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", true, 0)},
		/* Not terminated. */
		{LEB("", true, 0)},
		{LEB("\x80", true, 0)},
		{LEB("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81", true, 0)},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		check_leb(&cases[i], false);
}

TEST(test_sleb)
{
	static const struct leb_case cases[] = {
		{LEB("\x00", false, 0)},
		{LEB("\x02", false, 2)},
		{LEB("\x7e", false, -2)},
		{LEB("\x7f", false, -1)},
		{LEB("\xff\x00", false, 127)},
		{LEB("\x80\x7f", false, -128)},
		{LEB("\xc0\xbb\x78", false, -123456)},
		{LEB("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00", false, INT64_MAX)},
		{LEB("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7f", false, INT64_MIN)},
		/* Padded. */
		{LEB("\xfe\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", false, -2)},
		{LEB("\x82\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", false, 2)},
		/* Bits past the 64th that are not the sign's. */
		{LEB("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", true, 0)},
		{LEB("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x7e", true, 0)},
		{LEB("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00", true, 0)},
		{LEB("\xff", true, 0)},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		check_leb(&cases[i], true);
}

TEST(test_strings_end_within_the_bounds)
{
	char *data = xmemdup("one\0\0two", 8);
	struct bytes b;

	bytes_init(&b, data, 8);
	assert_string_equal(bytes_cstr(&b), "one");
	assert_string_equal(bytes_cstr(&b), "");
	assert_int_equal(bytes_position(&b), 5);
	assert_null(bytes_cstr(&b));
	assert_true(b.failed);
	free(data);
}

TEST(test_take_and_skip)
{
	struct bytes b;

	bytes_init(&b, counting, sizeof(counting));
	assert_ptr_equal(bytes_take(&b, 3), counting);
	bytes_skip(&b, 2);
	assert_int_equal(bytes_position(&b), 5);
	assert_ptr_equal(bytes_take(&b, 10), counting + 5);
	assert_non_null(bytes_take(&b, 0));
	assert_false(b.failed);
	bytes_skip(&b, 1);
	assert_true(b.failed);
	/* Sizes that would overflow. */
	bytes_init(&b, counting, sizeof(counting));
	bytes_u8(&b);
	assert_null(bytes_take(&b, SIZE_MAX));
	assert_true(b.failed);
}

TEST(test_seek_and_align)
{
	struct bytes b;

	bytes_init(&b, counting, sizeof(counting));
	bytes_align(&b, 8);
	assert_int_equal(bytes_position(&b), 0);
	bytes_u8(&b);
	bytes_align(&b, 4);
	assert_int_equal(bytes_position(&b), 4);
	bytes_align(&b, 4);
	assert_int_equal(bytes_position(&b), 4);
	bytes_seek(&b, 15);
	assert_false(b.failed);
	assert_int_equal(bytes_left(&b), 0);
	bytes_seek(&b, 1);
	assert_int_equal(bytes_u8(&b), 2);
	bytes_seek(&b, 13);
	bytes_align(&b, 8);
	assert_true(b.failed);
	/* A failed cursor stays failed. */
	bytes_seek(&b, 0);
	assert_true(b.failed);
	assert_int_equal(bytes_u8(&b), 0);
	bytes_init(&b, counting, sizeof(counting));
	bytes_seek(&b, 16);
	assert_true(b.failed);
}

TEST(test_sub_has_bounds_of_its_own)
{
	struct bytes b, sub;

	bytes_init(&b, counting, sizeof(counting));
	bytes_u8(&b);
	sub = bytes_sub(&b, 4);
	assert_int_equal(bytes_position(&b), 5);
	assert_int_equal(bytes_position(&sub), 0);
	assert_int_equal(bytes_u32(&sub), 0x05040302);
	bytes_u8(&sub);
	assert_true(sub.failed);
	assert_false(b.failed);
	sub = bytes_sub(&b, 11);
	assert_true(sub.failed);
	assert_true(b.failed);
	assert_int_equal(bytes_left(&sub), 0);
	assert_int_equal(bytes_u8(&sub), 0);
}

TEST(test_nothing)
{
	struct bytes b, sub;

	bytes_init(&b, NULL, 0);
	assert_false(b.failed);
	assert_int_equal(bytes_left(&b), 0);
	sub = bytes_sub(&b, 0);
	assert_false(sub.failed);
	bytes_seek(&b, 0);
	assert_false(b.failed);
	assert_int_equal(bytes_u8(&b), 0);
	assert_true(b.failed);
}
