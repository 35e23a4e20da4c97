/* SPDX-License-Identifier: MIT */
/* Unwind tables in shards: room, chunks, and the walker's description of a mapping. */
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/code/unwind/native/module_tables.h"
#include "lib/stream/record/records.h"

/* These tests look up rules, not stacks. */
#define walk_word(frame) ((void)(frame), 8)
#define walk_read_word(frame, to, addr) ((void)(frame), (void)(to), (void)(addr), -1)
#define walk_read_pair(frame, to, addr) walk_read_word(frame, to, addr)
#define walk_read_words(frame, to, addr, count) walk_read_word(frame, to, addr)
#define walk_is_arm64(frame) ((void)(frame), 0)
#define walk_pc_mask(frame) ((void)(frame), ~0ull)
#define walk_thread_pointer(frame) ((void)(frame), 0)
#include "bpf/walk.h"
#include "tests/unit/test.h"

#define PAGE_SIZE 4096u

struct fixture {
	struct table_arena arena;
	struct module_tables tables;
};

static void setup(struct fixture *f, unsigned int shards)
{
	*f = (struct fixture){0};
	table_arena_init(&f->arena, NULL, (uint64_t)shards * UNWIND_SHARD_BYTES);
	module_tables_init(&f->tables, &f->arena, PAGE_SIZE);
}

static void teardown(struct fixture *f)
{
	module_tables_release(&f->tables);
	table_arena_release(&f->arena);
}

TEST(pieces_are_aligned_and_come_back)
{
	struct fixture f;
	struct shard_piece pieces[4];

	setup(&f, 1);
	for (size_t i = 0; i < 4; i++) {
		assert_true(table_arena_alloc(&f.arena, 17, &pieces[i]));
		assert_int_equal(pieces[i].at % 16, 0);
		assert_int_equal(pieces[i].words, 32);
	}
	/* Freed in an order that touches no neighbour, then one, then both. */
	table_arena_free(&f.arena, &pieces[0]);
	table_arena_free(&f.arena, &pieces[2]);
	assert_int_equal(f.arena.rows.items[0].holes.count, 3);
	table_arena_free(&f.arena, &pieces[1]);
	table_arena_free(&f.arena, &pieces[3]);
	assert_int_equal(f.arena.rows.items[0].holes.count, 1);
	assert_int_equal(f.arena.rows.items[0].holes.items[0].at, 0);
	assert_int_equal(f.arena.rows.items[0].holes.items[0].words, UNWIND_SHARD_WORDS);
	teardown(&f);
}

TEST(the_ceiling_holds)
{
	struct fixture f;
	struct shard_piece piece;

	setup(&f, 1);
	assert_true(table_arena_alloc(&f.arena, UNWIND_SHARD_WORDS, &piece));
	assert_false(table_arena_alloc(&f.arena, 1, &piece));
	assert_false(table_arena_alloc(&f.arena, UNWIND_SHARD_WORDS + 1, &piece));
	assert_false(table_arena_alloc(&f.arena, 0, &piece));
	teardown(&f);
}

/* A table of `pages` pages with `rows` rows each; a row's rule tells its place. */
static void make_table(struct unwind_table *table, uint32_t pages, uint32_t rows)
{
	*table = (struct unwind_table){.start = 0x1000, .page_count = pages};
	for (uint32_t page = 0; page < pages; page++) {
		vec_push(&table->index, (uint32_t)table->rows.count);
		for (uint32_t row = 0; row < rows; row++)
			vec_push(&table->rows,
				 (struct unwind_row){.pc_low = (uint16_t)(8 + row),
						     .rule = (uint16_t)(page * 7 + row + 2)});
	}
	vec_push(&table->index, (uint32_t)table->rows.count);
}

static void add_module(struct fixture *f, uint32_t id, uint64_t code_size)
{
	struct rec_module *rec = xcalloc(1, rec_module_size(2, 0));

	record_init(&rec->rec, REC_MODULE, rec_module_size(2, 0), 0, 0, 0);
	rec->module_id = id;
	rec->segment_count = 2;
	rec->segments[0] = (struct rec_segment){.file_offset = 0, .file_size = 0x800, .vaddr = 0};
	rec->segments[1] = (struct rec_segment){
		.file_offset = 0x800, .file_size = code_size, .vaddr = 0x1800, .executable = 1};
	module_tables_add(&f->tables, rec, TABLE_PENDING);
	free(rec);
}

static uint16_t rule_at(const struct fixture *f, const struct unwind_mappings *mappings,
			uint64_t addr)
{
	vec_for_each(&mappings->rows, const struct unwind_mapping *, m) {
		const struct shard *shard = &f->arena.rows.items[m->shard];

		if (addr < m->start || addr >= m->end)
			continue;
		if (!(m->flags & UNWIND_HAS_TABLE))
			return UNWIND_RULE_NONE;
		return (uint16_t)walk_find_rule(m, shard->words, UNWIND_SHARD_WORDS,
						addr - m->bias);
	}
	return UINT16_MAX;
}

TEST(every_row_is_found_again_across_chunks)
{
	const uint32_t pages = 4000, rows = 600; /* 2.4 million words: five chunks */
	struct unwind_mappings mappings = {0};
	struct unwind_table table;
	struct mapping mapping = {.file_offset = 0, .module = 1};
	struct fixture f;

	setup(&f, 8);
	make_table(&table, pages, rows);
	add_module(&f, 1, (uint64_t)pages * UNWIND_PAGE_SIZE);
	module_tables_store(&f.tables, 1, &table);
	assert_int_equal(f.tables.rows.items[1].state, TABLE_READY);
	assert_true(f.tables.rows.items[1].chunks.count >= 3);
	assert_int_equal(f.tables.rows.items[1].rows, (uint64_t)pages * rows);
	/* Mapped from the page that holds the segment's first byte: offset 0 is vaddr 0x1000. */
	mapping.start = 0x7f0000000000;
	mapping.end = mapping.start + (uint64_t)pages * UNWIND_PAGE_SIZE;
	module_tables_describe(&f.tables, &mapping, &mappings);
	assert_true(mappings.rows.count >= 3);
	for (size_t i = 1; i < mappings.rows.count; i++)
		assert_int_equal(mappings.rows.items[i - 1].end, mappings.rows.items[i].start);
	assert_int_equal(mappings.rows.items[0].start, mapping.start);
	assert_int_equal(vec_last(&mappings.rows).end, mapping.end);
	for (uint32_t page = 1; page < pages; page += 3) {
		uint64_t addr = mapping.start + (uint64_t)page * UNWIND_PAGE_SIZE;

		/* Before the first row of a page, the last row of the previous page holds. */
		assert_int_equal(rule_at(&f, &mappings, addr + 7),
				 (uint16_t)((page - 1) * 7 + rows - 1 + 2));
		assert_int_equal(rule_at(&f, &mappings, addr + 8), (uint16_t)(page * 7 + 2));
		assert_int_equal(rule_at(&f, &mappings, addr + 1023),
				 (uint16_t)(page * 7 + rows - 1 + 2));
	}
	unwind_table_release(&table);
	vec_release(&mappings.rows);
	teardown(&f);
}

TEST(what_has_no_table_says_so)
{
	struct unwind_mappings mappings = {0};
	struct mapping anon = {.start = 0x1000, .end = 0x2000, .module = MAPPING_ANON};
	struct mapping pending = {
		.start = 0x2000, .end = 0x3000, .file_offset = 0x800, .module = 0};
	struct unwind_table empty = {0};
	struct fixture f;

	setup(&f, 1);
	add_module(&f, 0, 0x1000);
	module_tables_describe(&f.tables, &anon, &mappings);
	module_tables_describe(&f.tables, &pending, &mappings);
	module_tables_store(&f.tables, 0, &empty);
	module_tables_describe(&f.tables, &pending, &mappings);
	assert_int_equal(mappings.rows.count, 3);
	assert_int_equal(mappings.rows.items[0].flags, 0);
	assert_int_equal(mappings.rows.items[1].flags, UNWIND_PENDING);
	assert_int_equal(mappings.rows.items[2].flags, 0);
	vec_release(&mappings.rows);
	teardown(&f);
}

TEST(a_table_without_room_is_counted)
{
	struct unwind_mappings mappings = {0};
	struct mapping mapping = {.start = 0x7000, .end = 0x8000, .file_offset = 0, .module = 0};
	struct unwind_table table;
	struct shard_piece all;
	struct fixture f;

	setup(&f, 1);
	assert_true(table_arena_alloc(&f.arena, UNWIND_SHARD_WORDS, &all));
	make_table(&table, 4, 4);
	table.entry = 0x1800;
	table.has_entry = true;
	add_module(&f, 0, 0x1000);
	module_tables_store(&f.tables, 0, &table);
	assert_int_equal(f.tables.rows.items[0].state, TABLE_NONE);
	assert_int_equal(f.tables.rows.items[0].rows, 0);
	assert_int_equal(f.tables.too_large, 1);
	/* The stack ends at the program's entry, however it is reached. */
	module_tables_describe(&f.tables, &mapping, &mappings);
	assert_int_equal(mappings.rows.count, 1);
	assert_int_equal(mappings.rows.items[0].flags, 0);
	assert_int_equal(mappings.rows.items[0].entry, 0x1800);
	assert_int_equal(mappings.rows.items[0].bias, 0x7000 - 0x1000);
	vec_release(&mappings.rows);
	unwind_table_release(&table);
	teardown(&f);
}

TEST(a_table_that_fits_in_part_leaves_the_room_to_others)
{
	struct unwind_table table;
	struct shard_piece all;
	struct fixture f;

	setup(&f, 1);
	make_table(&table, 3000, 600); /* two chunks */
	add_module(&f, 0, 3000ull * UNWIND_PAGE_SIZE);
	module_tables_store(&f.tables, 0, &table);
	assert_int_equal(f.tables.rows.items[0].state, TABLE_NONE);
	assert_int_equal(f.tables.rows.items[0].chunks.count, 0);
	assert_int_equal(f.tables.rows.items[0].rows, 0);
	assert_int_equal(f.tables.too_large, 1);
	assert_true(table_arena_alloc(&f.arena, UNWIND_SHARD_WORDS, &all));
	unwind_table_release(&table);
	teardown(&f);
}
