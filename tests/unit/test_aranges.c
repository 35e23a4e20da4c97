/* SPDX-License-Identifier: MIT */
#include "symbolize/dwarf/debug_info.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/test.h"

static struct strbuf section;
static struct aranges aranges;
static struct step_budget work;

static int setup(void **state)
{
	work.left = 1000;
	return 0;
}

static int teardown(void **state)
{
	strbuf_release(&section);
	aranges_release(&aranges);
	return 0;
}

static void add(uint64_t value, size_t size)
{
	strbuf_add(&section, &value, size);
}

/* Puts that many bytes behind the size; 32-bit DWARF, 64-bit addresses. */
static void add_header(uint32_t size, uint32_t unit)
{
	add(size, 4);
	add(2, 2);
	add(unit, 4);
	add(8, 1);
	add(0, 1);
	add(0, 4); /* padding up to aligned pairs */
}

static void add_pair(uint64_t start, uint64_t size)
{
	add(start, 8);
	add(size, 8);
}

/* "start-end:unit" of each range. */
static const char *read_all(void)
{
	static char text[512];
	/* A block of exact size, so that sanitizers see reads beyond it. */
	uint8_t *copy = malloc(section.size + 1);
	const struct debug_section s = {copy, section.size};
	size_t used = 0;

	memcpy(copy, strbuf_text(&section), section.size);
	aranges_release(&aranges);
	aranges = (struct aranges){0};
	aranges_read(&aranges, &s, &work);
	free(copy);
	text[0] = '\0';
	vec_for_each(&aranges.ranges.rows, const struct interval *, it) {
		assert_true(it->id < aranges.units.count);
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%llx-%llx:%llx ",
					 (unsigned long long)it->start, (unsigned long long)it->end,
					 (unsigned long long)aranges.units.items[it->id]);
	}
	return text;
}

#define CASE(name) TEST_WITH(name, setup, teardown)

CASE(test_sets)
{
	assert_string_equal(read_all(), "");
	add_header(12 + 3 * 16, 0x700);
	add_pair(0x1000, 0x10);
	add_pair(0x2000, 0x20);
	add_pair(0, 0);
	add_header(12 + 2 * 16, 0x40);
	add_pair(0x3000, 1);
	add_pair(0, 0);
	add_header(12 + 2 * 16, 0x700);
	add_pair(0x4000, 2);
	add_pair(0, 0);
	assert_string_equal(read_all(), "3000-3001:40 1000-1010:700 2000-2020:700 4000-4002:700 ");
	assert_int_equal(aranges.units.count, 2);
}

CASE(test_other_forms)
{
	/* 64-bit DWARF: 24 bytes of header, pairs at multiples of 16. */
	add(UINT32_MAX, 4);
	add(20 + 2 * 16, 8);
	add(2, 2);
	add(0x123456789aull, 8);
	add(8, 1);
	add(0, 1);
	add(0, 8);
	add_pair(0x1000, 0x10);
	add_pair(0, 0);
	/* 32-bit addresses: 12 bytes of header, 4 up to a multiple of 8. */
	add(12 + 2 * 8, 4);
	add(2, 2);
	add(0x50, 4);
	add(4, 1);
	add(0, 1);
	add(0, 4);
	add(0x2000, 4);
	add(8, 4);
	add(0, 8);
	assert_string_equal(read_all(), "2000-2008:50 1000-1010:123456789a ");
}

/* Linkers keep an inline function from its first unit, whatever the order of sets. */
CASE(test_same_code)
{
	struct segments segments = {0};

	for (uint32_t unit = 3; unit > 0; unit--) {
		add_header(12 + 2 * 16, 0x40 * unit);
		add_pair(0x1000, 0x10);
		add_pair(0, 0);
	}
	read_all();
	segments_build(&segments, &aranges.ranges);
	assert_int_equal(aranges.units.items[segments_find(&segments, 0x1008)], 0x40);
	segments_release(&segments);
}

/* An unreadable set does not hide the others. */
CASE(test_sets_that_are_left_out)
{
	static const struct {
		size_t at;
		uint8_t value;
	} changes[] = {
		{4, 3}, /* version */
		{10, 2}, /* size of addresses */
		{11, 8}, /* of segments */
	};

	add_header(12 + 2 * 16, 0x40);
	add_pair(0x1000, 0x10);
	add_pair(0, 0);
	add_header(12 + 16, 0x80);
	add_pair(0x2000, 0x10);
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		char was = section.text[changes[i].at];

		section.text[changes[i].at] = (char)changes[i].value;
		assert_string_equal(read_all(), "2000-2010:80 ");
		section.text[changes[i].at] = was;
	}
	assert_string_equal(read_all(), "1000-1010:40 2000-2010:80 ");
}

CASE(test_damaged_ranges)
{
	add_header(12 + 5 * 16, 0x40);
	add_pair(0x1000, 0); /* empty */
	add_pair(UINT64_MAX, 2); /* beyond the last address */
	add_pair(0x2000, 0x10);
	add_pair(0, 0);
	add_pair(0x3000, 0x10); /* behind the end of the section */
	assert_string_equal(read_all(), "2000-2010:40 ");
}

CASE(test_every_length)
{
	add_header(12 + 2 * 16, 0x40);
	add_pair(0x1000, 0x10);
	add_pair(0, 0);
	while (section.size-- > 0)
		assert_string_equal(read_all(), "");
	section.size = 0;
}

CASE(test_work)
{
	add_header(12 + 3 * 16, 0x40);
	add_pair(0x1000, 0x10);
	add_pair(0x2000, 0x10);
	add_pair(0x3000, 0x10);
	work.left = 3;
	assert_string_equal(read_all(), "1000-1010:40 2000-2010:40 ");
}
