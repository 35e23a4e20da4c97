/* SPDX-License-Identifier: MIT */
/* Rows of generated code: where they are, and how the walker's description changes. */
#include "lib/code/unwind/native/jit_tables.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/code/unwind/user_walk.h"
#include "tests/unit/jit_frame.h"
#include "bpf/walk_table.h"
#include "tests/unit/test.h"

enum process {
	PARENT,
	CHILD,
	PROCESSES,
};
#define CODE 0x7f0000010000ull
#define SIZE 0x20u
#define MEMORY (CODE - 0x10000)
#define MEMORY_SIZE 0x100000u

struct fixture {
	struct table_arena arena;
	struct deferred_free garbage;
	struct rule_store *store;
	const struct unwind_rule *rules;
	struct jit_tables tables;
	struct jit_code *code[PROCESSES]; /* NULL: nothing described */
	struct unwind_mappings mappings;
};

static int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	table_arena_init(&f->arena, NULL, 2 * UNWIND_SHARD_BYTES);
	f->store = rule_store_new(NULL);
	f->rules = rule_store_rules(f->store);
	jit_tables_init(&f->tables, &f->arena, &f->garbage, f->store, unwind_machine_own().arch);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < PROCESSES; i++)
		jit_tables_drop(&f->tables, f->code[i]);
	assert_int_equal(f->tables.bytes, 0);
	jit_tables_release(&f->tables);
	deferred_free_release(&f->garbage);
	table_arena_release(&f->arena);
	rule_store_free(f->store);
	vec_release(&f->mappings.rows);
	free(f);
	return 0;
}

/* Adds code with a frame of `frame` bytes from its fourth byte on; 0: without a description. */
static bool add(struct fixture *f, enum process process, uint64_t start, uint32_t size,
		uint8_t frame, uint64_t moved_from)
{
	uint8_t eh_frame[JIT_FRAME_SIZE];
	struct code_piece piece = {.start = start, .size = size, .moved_from = moved_from};

	if (frame) {
		jit_frame_make(eh_frame, size, frame);
		piece.eh_frame = eh_frame;
		piece.eh_frame_size = sizeof(eh_frame);
	}
	return jit_tables_add(&f->tables, &f->code[process], &piece);
}

/* Describes a mapping of all the code, without holes. */
static void describe(struct fixture *f, enum process process)
{
	uint64_t at = MEMORY;

	vec_clear(&f->mappings.rows);
	vec_push(&f->mappings.rows,
		 (struct unwind_mapping){.start = MEMORY, .end = MEMORY + MEMORY_SIZE});
	jit_tables_store(&f->tables, f->code[process], 0);
	jit_tables_describe(&f->tables, f->code[process], 0, &f->mappings);
	vec_for_each(&f->mappings.rows, const struct unwind_mapping *, m) {
		assert_int_equal(m->start, at);
		assert_true(m->end > at);
		at = m->end;
	}
	assert_int_equal(at, MEMORY + MEMORY_SIZE);
}

static const struct unwind_mapping *find_mapping(struct fixture *f, uint64_t addr)
{
	vec_for_each(&f->mappings.rows, const struct unwind_mapping *, m) {
		if (addr >= m->start && addr < m->end)
			return m;
	}
	return NULL;
}

/* Returns the rule that the walker finds. */
static const struct unwind_rule *rule(struct fixture *f, uint64_t addr)
{
	const struct unwind_mapping *m = find_mapping(f, addr);
	uint32_t number = UNWIND_RULE_NONE;

	assert_non_null(m);
	if (m->flags & UNWIND_HAS_TABLE)
		number = walk_find_rule(m, f->arena.rows.items[m->shard].words, UNWIND_SHARD_WORDS,
					addr - m->bias);
	return &f->rules[number];
}

/* Returns the CFA's distance from the stack pointer; -1: unknown. */
static int cfa(struct fixture *f, uint64_t addr)
{
	if (rule(f, addr)->cfa_kind != UNWIND_CFA_REG)
		return -1;
	assert_int_equal(rule(f, addr)->cfa_reg, UNWIND_REG_SP);
	return rule(f, addr)->cfa_offset;
}

#define CASE(name) TEST_WITH(name, setup, teardown)

CASE(rows_of_a_piece)
{
	struct fixture *f = *state;

	assert_true(add(f, PARENT, CODE + 8, SIZE, 32, 0));
	describe(f, PARENT);
	assert_int_equal(f->mappings.rows.count, 3);
	assert_int_equal(cfa(f, CODE + 7), -1);
	assert_int_equal(cfa(f, CODE + 8), JIT_FRAME_ENTRY_CFA);
	assert_int_equal(cfa(f, CODE + 11), JIT_FRAME_ENTRY_CFA);
	assert_int_equal(cfa(f, CODE + 12), 32);
	assert_int_equal(cfa(f, CODE + 7 + SIZE), 32);
	assert_int_equal(cfa(f, CODE + 8 + SIZE), -1);
	assert_int_equal(f->tables.pieces, 1);
	/* No other process has it. */
	describe(f, CHILD);
	assert_int_equal(f->mappings.rows.count, 1);
	/* Mappings with a table stay as they are. */
	f->mappings.rows.items[0].flags = UNWIND_PENDING;
	jit_tables_describe(&f->tables, f->code[PARENT], 0, &f->mappings);
	assert_int_equal(f->mappings.rows.count, 1);
}

#if defined(__x86_64__)
CASE(rows_of_erlang)
{
	/* lea -128(%rbx),%rsp; call *%rax; mov %rbp,%rsp; ret */
	static const uint8_t code[] =
		"\x90\x48\x89\xe5\x48\x8d\x63\x80\xff\xd0\x48\x89\xec\xc3\xcc\xcc";
	const struct code_piece piece = {.start = CODE,
					 .size = sizeof(code),
					 .code = code,
					 .is_erlang = true,
					 .outermost = CODE + 14,
					 .outermost_size = 1};
	struct fixture *f = *state;

	assert_true(jit_tables_add(&f->tables, &f->code[PARENT], &piece));
	describe(f, PARENT);
	assert_int_equal(rule(f, CODE)->cfa_kind, UNWIND_CFA_ERLANG);
	assert_int_equal(rule(f, CODE)->cfa_offset, 0);
	assert_int_equal(rule(f, CODE + 9)->cfa_offset, -128);
	assert_int_equal(rule(f, CODE + 12)->cfa_kind, UNWIND_CFA_ERLANG);
	/* The first byte of that code is a return address. */
	assert_int_equal(rule(f, CODE + 13)->cfa_kind, UNWIND_CFA_END);
	assert_int_equal(rule(f, CODE + 14)->cfa_kind, UNWIND_CFA_END);
	assert_int_equal(rule(f, CODE + 15)->cfa_kind, UNWIND_CFA_ERLANG);
	assert_int_equal(f->tables.pieces, 1);
}
#endif

CASE(code_in_place_of_other_code)
{
	struct fixture *f = *state;

	add(f, PARENT, CODE, 3 * SIZE, 32, 0);
	assert_true(add(f, PARENT, CODE + SIZE, SIZE, 48, 0));
	describe(f, PARENT);
	assert_int_equal(cfa(f, CODE + SIZE - 1), 32);
	assert_int_equal(cfa(f, CODE + SIZE), JIT_FRAME_ENTRY_CFA);
	assert_int_equal(cfa(f, CODE + SIZE + 4), 48);
	assert_int_equal(cfa(f, CODE + 2 * SIZE), 32);
	assert_true(add(f, PARENT, CODE + SIZE, SIZE, 0, 0));
	describe(f, PARENT);
	assert_int_equal(cfa(f, CODE + SIZE - 1), 32);
	assert_int_equal(cfa(f, CODE + SIZE + 4), -1);
	assert_int_equal(cfa(f, CODE + 2 * SIZE), 32);
	/* Nothing was known there before. */
	assert_false(add(f, PARENT, CODE + 0x50000, SIZE, 0, 0));
}

CASE(code_that_moves)
{
	struct fixture *f = *state;

	add(f, PARENT, CODE, SIZE, 32, 0);
	assert_true(add(f, PARENT, CODE + 0x20000, SIZE, 32, CODE));
	describe(f, PARENT);
	assert_int_equal(cfa(f, CODE + 4), -1);
	assert_int_equal(cfa(f, CODE + 0x20004), 32);
	/* Moved by less than its length. */
	assert_true(add(f, PARENT, CODE + 0x20008, SIZE, 32, CODE + 0x20000));
	describe(f, PARENT);
	assert_int_equal(cfa(f, CODE + 0x20004), -1);
	assert_int_equal(cfa(f, CODE + 0x20008), JIT_FRAME_ENTRY_CFA);
	assert_int_equal(cfa(f, CODE + 0x2000c), 32);
	assert_int_equal(cfa(f, CODE + 0x20027), 32);
	assert_int_equal(cfa(f, CODE + 0x20028), -1);
}

CASE(a_piece_in_several_regions)
{
	struct fixture *f = *state;

	add(f, PARENT, CODE + 0xfffe, 0x20004, 32, 0);
	describe(f, PARENT);
	assert_int_equal(cfa(f, CODE + 0xfffd), -1);
	assert_int_equal(cfa(f, CODE + 0xffff), JIT_FRAME_ENTRY_CFA);
	assert_int_equal(cfa(f, CODE + 0x10001), JIT_FRAME_ENTRY_CFA);
	assert_int_equal(cfa(f, CODE + 0x10002), 32);
	assert_int_equal(cfa(f, CODE + 0x20000), 32);
	assert_int_equal(cfa(f, CODE + 0x30001), 32);
	assert_int_equal(cfa(f, CODE + 0x30002), -1);
}

/* Adding one piece rewrites one region, however many there are. */
CASE(other_regions_stay_where_they_are)
{
	struct fixture *f = *state;

	add(f, PARENT, CODE, SIZE, 32, 0);
	add(f, PARENT, CODE + 0x10000, SIZE, 32, 0);
	describe(f, PARENT);
	assert_int_equal(f->garbage.rows.count, 0);
	add(f, PARENT, CODE + SIZE, SIZE, 32, 0);
	describe(f, PARENT);
	assert_int_equal(f->garbage.rows.count, 1);
	describe(f, PARENT);
	assert_int_equal(f->garbage.rows.count, 1);
}

CASE(a_child_has_what_its_parent_has)
{
	struct fixture *f = *state;
	uint64_t bytes;

	add(f, PARENT, CODE, SIZE, 32, 0);
	f->code[CHILD] = jit_code_fork(f->code[PARENT]);
	bytes = f->tables.bytes;
	describe(f, CHILD);
	assert_int_equal(cfa(f, CODE + 4), 32);
	add(f, CHILD, CODE, SIZE, 48, 0);
	assert_true(f->tables.bytes > bytes);
	describe(f, CHILD);
	assert_int_equal(cfa(f, CODE + 4), 48);
	describe(f, PARENT);
	assert_int_equal(cfa(f, CODE + 4), 32);
	jit_tables_drop(&f->tables, steal(f->code[PARENT]));
	describe(f, CHILD);
	assert_int_equal(cfa(f, CODE + 4), 48);
	assert_int_equal(f->tables.bytes, bytes);
	jit_tables_drop(&f->tables, steal(f->code[CHILD]));
	assert_int_equal(f->tables.bytes, 0);
	assert_int_equal(f->garbage.rows.count, 2);
}

CASE(what_cannot_be_believed)
{
	uint8_t eh_frame[JIT_FRAME_SIZE];
	struct fixture *f = *state;
	struct code_piece piece = {.start = CODE,
				   .size = SIZE,
				   .eh_frame = eh_frame,
				   .eh_frame_size = sizeof(eh_frame)};

	/* Describes code of another size, and so elsewhere. */
	jit_frame_make(eh_frame, SIZE + 0x100, 32);
	assert_false(jit_tables_add(&f->tables, &f->code[PARENT], &piece));
	assert_int_equal(f->tables.malformed, 1);
	memset(eh_frame, 0xff, sizeof(eh_frame));
	assert_false(jit_tables_add(&f->tables, &f->code[PARENT], &piece));
	assert_int_equal(f->tables.malformed, 2);
	assert_false(add(f, PARENT, CODE, JIT_LARGE_MAX + 1, 32, 0));
	assert_int_equal(f->tables.pieces, 0);
}

CASE(large_pieces_are_counted)
{
	const uint32_t size = 512 << 20;
	struct fixture *f = *state;

	for (uint64_t i = 0; i < JIT_LARGE_MAX / size; i++)
		assert_true(add(f, PARENT, CODE, size, (uint8_t)(32 + 8 * i), 0));
	describe(f, PARENT);
	assert_int_equal(cfa(f, CODE + 0x10000), 56);
	assert_false(add(f, PARENT, CODE, size, 16, 0));
	/* Small ones have room. */
	assert_true(add(f, PARENT, CODE, SIZE, 16, 0));
	describe(f, PARENT);
	assert_int_equal(cfa(f, CODE + 4), 16);
	assert_int_equal(cfa(f, CODE + 0x10000), 56);
}

/* Call frame information that a program publishes lies anywhere. */
CASE(call_frame_information_elsewhere)
{
	uint8_t eh_frame[JIT_FRAME_SIZE];
	struct fixture *f = *state;
	struct code_piece piece = {.start = CODE,
				   .size = SIZE,
				   .eh_frame = eh_frame,
				   .eh_frame_size = sizeof(eh_frame),
				   .eh_frame_addr = CODE + 0x4000};
	const uint32_t distance = (uint32_t) - (0x4000 + JIT_FRAME_CIE + 8);

	jit_frame_make(eh_frame, SIZE, 32);
	memcpy(eh_frame + JIT_FRAME_CIE + 8, &distance, sizeof(distance));
	assert_true(jit_tables_add(&f->tables, &f->code[PARENT], &piece));
	describe(f, PARENT);
	assert_int_equal(cfa(f, CODE + 4), 32);
	assert_int_equal(f->tables.malformed, 0);
}

/* sub $24,%rsp; call; add $24,%rsp; ret; nop: without call frame information */
CASE(frames_from_the_code)
{
	static const uint8_t code[] = {0x48, 0x83, 0xec, 0x18, 0xe8, 0,	   0,	 1,
				       0,    0x48, 0x83, 0xc4, 0x18, 0xc3, 0x90, 0x90};
	uint8_t eh_frame[JIT_FRAME_SIZE], both[SIZE] = {0};
	struct fixture *f = *state;
	struct code_piece piece = {.start = CODE, .size = sizeof(code), .code = code};

	assert_true(jit_tables_add(&f->tables, &f->code[PARENT], &piece));
	describe(f, PARENT);
	assert_int_equal(cfa(f, CODE), 8);
	assert_int_equal(cfa(f, CODE + 4), 32);
	assert_int_equal(cfa(f, CODE + 13), 8);
	/* Call frame information takes precedence. */
	memcpy(both, code, sizeof(code));
	jit_frame_make(eh_frame, SIZE, 48);
	piece = (struct code_piece){.start = CODE,
				    .size = SIZE,
				    .eh_frame = eh_frame,
				    .eh_frame_size = sizeof(eh_frame),
				    .code = both};
	assert_true(jit_tables_add(&f->tables, &f->code[PARENT], &piece));
	describe(f, PARENT);
	assert_int_equal(cfa(f, CODE + 4), 48);
}

CASE(memory_is_bounded)
{
	struct fixture *f = *state;
	uint64_t bytes;

	/* A row per four bytes, never the same twice. */
	for (uint64_t i = 0; i < 0x10000 / 8; i++)
		add(f, PARENT, CODE + i * 8, 8, (uint8_t)(i % 2 ? 32 : 48), 0);
	assert_int_equal(f->tables.refused, 1);
	f->tables.max_bytes = f->tables.bytes;
	bytes = f->tables.bytes;
	assert_false(add(f, PARENT, CODE + 0x20000, SIZE, 32, 0));
	assert_int_equal(f->tables.refused, 2);
	assert_int_equal(f->tables.bytes, bytes);
	/* The shards have no room either. */
	f->arena.max_bytes = 0;
	describe(f, PARENT);
	assert_int_equal(f->mappings.rows.count, 1);
	assert_int_equal(f->tables.refused, 3);
}
