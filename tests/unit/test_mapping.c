/* SPDX-License-Identifier: MIT */

#include <stdlib.h>
#include <string.h>

#include "lib/model/tables/ids.h"
#include "lib/stream/process/mapping.h"
#include "tests/unit/test.h"

struct fixture {
	struct mapping_table *t;
	uint64_t stamp;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->t = mapping_table_new();
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	mapping_table_drop(f->t);
	free(f);
	return 0;
}

static bool map(struct fixture *f, uint64_t start, uint64_t end, uint64_t offset, module_id module)
{
	const struct mapping m = {start, end, offset, module};

	return mapping_table_insert(&f->t, &m, ++f->stamp);
}

/* Expects exactly these rows. */
static void expect_rows(const struct mapping_table *t, const struct mapping *rows, size_t count)
{
	assert_int_equal(t->rows.count, count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(t->rows.items[i].start, rows[i].start);
		assert_int_equal(t->rows.items[i].end, rows[i].end);
		assert_int_equal(t->rows.items[i].file_offset, rows[i].file_offset);
		assert_int_equal(t->rows.items[i].module, rows[i].module);
	}
}

#define EXPECT_ROWS(t, ...) \
	do { \
		const struct mapping rows_[] = {__VA_ARGS__}; \
		expect_rows(t, rows_, sizeof(rows_) / sizeof(*rows_)); \
	} while (0)

#define CASE(name) TEST_WITH(name, setup, teardown)

CASE(finds_by_address)
{
	struct fixture *f = *state;

	assert_null(mapping_table_find(f->t, 0));
	assert_null(mapping_table_find(f->t, UINT64_MAX));
	map(f, 0x3000, 0x4000, 0, 3);
	map(f, 0x1000, 0x2000, 0, 1);
	map(f, 0x2000, 0x2800, 0, 2);
	assert_null(mapping_table_find(f->t, 0xfff));
	assert_int_equal(mapping_table_find(f->t, 0x1000)->module, 1);
	assert_int_equal(mapping_table_find(f->t, 0x1fff)->module, 1);
	assert_int_equal(mapping_table_find(f->t, 0x2000)->module, 2);
	assert_null(mapping_table_find(f->t, 0x2800));
	assert_int_equal(mapping_table_find(f->t, 0x3fff)->module, 3);
	assert_null(mapping_table_find(f->t, 0x4000));
	assert_null(mapping_table_find(f->t, UINT64_MAX));
}

CASE(splits_what_it_lies_within)
{
	struct fixture *f = *state;

	map(f, 0x1000, 0x9000, 0x100000, 1);
	map(f, 0x4000, 0x5000, 0, 2);
	EXPECT_ROWS(f->t, {0x1000, 0x4000, 0x100000, 1}, {0x4000, 0x5000, 0, 2},
		    {0x5000, 0x9000, 0x104000, 1});
}

CASE(trims_at_both_ends_and_swallows_between)
{
	struct fixture *f = *state;

	map(f, 0x1000, 0x3000, 0, 1);
	map(f, 0x3000, 0x4000, 0, 2);
	map(f, 0x5000, 0x6000, 0, 3);
	map(f, 0x7000, 0x9000, 0, 4);
	map(f, 0x2000, 0x8000, 0x70000, 5);
	EXPECT_ROWS(f->t, {0x1000, 0x2000, 0, 1}, {0x2000, 0x8000, 0x70000, 5},
		    {0x8000, 0x9000, 0x1000, 4});
	map(f, 0, 0x10000, 0, 6);
	EXPECT_ROWS(f->t, {0, 0x10000, 0, 6});
}

CASE(replaces_exactly)
{
	struct fixture *f = *state;

	map(f, 0x1000, 0x2000, 0, 1);
	map(f, 0x2000, 0x3000, 0, 2);
	map(f, 0x1000, 0x2000, 0, 3);
	EXPECT_ROWS(f->t, {0x1000, 0x2000, 0, 3}, {0x2000, 0x3000, 0, 2});
	/* Another part of the same file is another mapping. */
	map(f, 0x1000, 0x2000, 0x8000, 3);
	EXPECT_ROWS(f->t, {0x1000, 0x2000, 0x8000, 3}, {0x2000, 0x3000, 0, 2});
}

CASE(joins_what_continues)
{
	struct fixture *f = *state;

	map(f, 0x1000, 0x2000, 0x5000, 1);
	map(f, 0x3000, 0x4000, 0x7000, 1);
	map(f, 0x2000, 0x3000, 0x6000, 1);
	EXPECT_ROWS(f->t, {0x1000, 0x4000, 0x5000, 1});
	map(f, 0x3800, 0x5000, 0x7800, 1);
	EXPECT_ROWS(f->t, {0x1000, 0x5000, 0x5000, 1});
	map(f, 0x5000, 0x6000, 0x5000, 1);
	EXPECT_ROWS(f->t, {0x1000, 0x5000, 0x5000, 1}, {0x5000, 0x6000, 0x5000, 1});
}

CASE(knows_when_nothing_changes)
{
	struct fixture *f = *state;

	assert_true(map(f, 0x1000, 0x5000, 0, 1));
	assert_int_equal(f->t->stamp, 1);
	assert_false(map(f, 0x2000, 0x3000, 0x1000, 1));
	assert_false(map(f, 0x1000, 0x5000, 0, 1));
	assert_false(map(f, 0x3000, 0x3000, 0, 2));
	assert_false(map(f, 0x4000, 0x3000, 0, 2));
	assert_int_equal(f->t->stamp, 1);
	EXPECT_ROWS(f->t, {0x1000, 0x5000, 0, 1});
	assert_true(map(f, 0x4000, 0x6000, 0x3000, 1));
	assert_int_equal(f->t->stamp, f->stamp);
}

CASE(shares_until_one_changes)
{
	struct fixture *f = *state;
	struct mapping_table *child, *before;

	map(f, 0x1000, 0x2000, 0, 1);
	child = mapping_table_hold(f->t);
	before = f->t;
	assert_ptr_equal(child, f->t);
	assert_false(map(f, 0x1000, 0x2000, 0, 1));
	assert_ptr_equal(f->t, before);
	map(f, 0x1000, 0x2000, 0, 2);
	assert_ptr_not_equal(f->t, child);
	EXPECT_ROWS(child, {0x1000, 0x2000, 0, 1});
	EXPECT_ROWS(f->t, {0x1000, 0x2000, 0, 2});
	assert_int_not_equal(f->t->stamp, child->stamp);

	mapping_table_drop(child);

	/* The only holder again: it changes in place. */
	before = f->t;
	map(f, 0x1000, 0x2000, 0, 3);
	assert_ptr_equal(before, f->t);
}

/* Compares with a plain array of one cell per page. */
CASE(random_maps_match_a_model)
{
	enum { PAGES = 64, STEPS = 4000 };
	struct fixture *f = *state;
	struct {
		uint64_t offset;
		module_id module;
	} model[PAGES];

	srand(7);
	for (unsigned int page = 0; page < PAGES; page++)
		model[page].module = NO_MODULE;
	for (unsigned int step = 0; step < STEPS; step++) {
		uint64_t start = (unsigned int)rand() % PAGES;
		uint64_t end = start + 1 + (unsigned int)rand() % (PAGES - (unsigned int)start);
		/* Few offsets and modules, so that background_processes often continue each other.
		 */
		uint64_t offset = start + (unsigned int)rand() % 2 * 100;
		module_id module = (module_id)rand() % 3;

		map(f, start, end, offset, module);
		for (uint64_t page = start; page < end; page++) {
			model[page].offset = offset + page - start;
			model[page].module = module;
		}
		for (uint64_t page = 0; page < PAGES; page++) {
			const struct mapping *found = mapping_table_find(f->t, page);

			assert_int_equal(!found, model[page].module == NO_MODULE);
			if (!found)
				continue;
			assert_int_equal(found->module, model[page].module);
			assert_int_equal(found->file_offset + page - found->start,
					 model[page].offset);
		}
		for (size_t i = 1; i < f->t->rows.count; i++)
			assert_true(f->t->rows.items[i - 1].end <= f->t->rows.items[i].start);
	}
}

CASE(many_mappings_are_fine)
{
	struct fixture *f = *state;

	for (uint64_t i = 0; i < 20000; i++)
		map(f, i * 0x2000, i * 0x2000 + 0x1000, 0, (module_id)i);
	assert_int_equal(f->t->rows.count, 20000);
	for (uint64_t i = 0; i < 20000; i++) {
		assert_int_equal(mapping_table_find(f->t, i * 0x2000 + 0xfff)->module, i);
		assert_null(mapping_table_find(f->t, i * 0x2000 + 0x1000));
	}
}
