/* SPDX-License-Identifier: MIT */
#include "lib/code/binary/code_object.h"

#include <stdlib.h>
#include <string.h>

#include "lib/code/unwind/compile.h"
#include "lib/code/unwind/unwind_table.h"
#include "tests/unit/published_object.h"
#include "tests/unit/test.h"

#define CODE 0x7f1234560040ull
#define SIZE 64

static uint8_t data[PUBLISHED_OBJECT_MAX];
static struct code_object object;

static int setup(void **state)
{
	object = (struct code_object){0};
	return 0;
}

static int teardown(void **state)
{
	code_object_release(&object);
	return 0;
}

#define CASE(name) TEST_WITH(name, setup, teardown)

static void expect_function(size_t at, uint64_t start, uint64_t size, const char *name)
{
	const struct object_function *function = &object.functions.items[at];

	assert_int_equal(function->start, start);
	assert_int_equal(function->size, size);
	assert_int_equal(function->name_size, strlen(name));
	assert_memory_equal(function->name, name, strlen(name));
}

/* The call frame information has a rule for each half of the code, and nothing elsewhere. */
static void expect_frames(void)
{
	const struct code_range code = {CODE, CODE + SIZE};
	const struct compile_input input = {
		.arch = &unwind_arch_x86_64,
		.cfi = {.data = object.eh_frame,
			.size = object.eh_frame_size,
			.vaddr = object.eh_frame_addr,
			.text = CODE},
		.is_debug_frame = object.is_debug_frame,
		.code = &code,
		.code_count = 1,
	};
	struct unwind_rules rules;
	struct unwind_table table = {0};

	unwind_rules_init(&rules);
	assert_int_equal(compile_table(&input, &rules, &table, NULL), 0);
	assert_int_equal(table.stats.malformed + table.stats.outside, 0);
	/* The first row is that of the page before the code. */
	assert_int_equal(table.rows.count, 4);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(table.start + table.rows.items[1 + i].pc_low, CODE + i * SIZE / 2);
	unwind_table_release(&table);
	unwind_rules_release(&rules);
}

static void expect_all(void)
{
	assert_int_equal(object.functions.count, 2);
	expect_function(0, CODE, SIZE / 2, "first");
	expect_function(1, CODE + SIZE / 2, SIZE / 2, "second");
	assert_int_equal(object.ranges.count, 1);
	assert_int_equal(object.ranges.items[0].start, CODE);
	assert_int_equal(object.ranges.items[0].end, CODE + SIZE);
	assert_int_equal(object.lines.count, 2);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(object.lines.items[i].addr, CODE + i * SIZE / 2);
		assert_int_equal(object.lines.items[i].line, 10 + 10 * i);
		assert_string_equal(object.files.text + object.lines.items[i].file, "made.c");
	}
	expect_frames();
}

CASE(an_object_with_relocations)
{
	size_t size = published_object(data, PUBLISHED_RELOCATABLE, CODE, SIZE);

	assert_true(code_object_parse(&object, data, size));
	expect_all();
}

CASE(an_object_with_addresses)
{
	size_t size = published_object(data, PUBLISHED_PLACED, CODE, SIZE);

	assert_true(code_object_parse(&object, data, size));
	assert_true(object.is_debug_frame);
	expect_all();
}

CASE(an_object_placed_as_a_whole)
{
	size_t size = published_object(data, PUBLISHED_IMAGE, CODE, SIZE);

	assert_true(code_object_parse(&object, data, size));
	expect_all();
}

CASE(an_object_whose_frames_are_relative_to_its_code)
{
	size_t size = published_object(data, PUBLISHED_BY_TEXT, CODE, SIZE);

	assert_true(code_object_parse(&object, data, size));
	expect_all();
}

/* A module with a function that is entered by way of its prologue, as OTP 25 publishes it. */
CASE(an_object_of_erlang)
{
	static const char module[] = "\1\0\0\0xxxx\x40\0\x56\x34\x12\x7f\0\0\x2\0\0\0\x60\0\0\0"
				     "\x5\0fibm\0xx\2\0\0\0"
				     "\0\0\0\0\x20\0\0\0\0\0\0\0"
				     "\x1c\0fibm:fib/1-CodeInfoPrologue\0xx"
				     "\x20\0\0\0\x60\0\0\0\2\0\0\0\xb\0fibm:fib/1\0xx"
				     "\x10\0\0\0\4\0\0\0\x9\0fibm.erl\0xx"
				     "\x60\0\0\0\0\0\0\0\x9\0fibm.erl\0xx";

	memcpy(data, module, sizeof(module));
	assert_true(code_object_parse(&object, data, sizeof(module)));
	assert_int_equal(object.functions.count, 1);
	expect_function(0, CODE, 0x60, "fibm:fib/1");
	assert_int_equal(object.lines.count, 1);
	assert_int_equal(object.lines.items[0].addr, CODE);
	assert_int_equal(object.lines.items[0].line, 4);
	assert_string_equal(object.files.text + object.lines.items[0].file, "fibm.erl");
}

CASE(code_of_erlang_in_which_stacks_end)
{
	static const char module[] = "\1\0\0\0xxxx\x40\0\x56\x34\x12\x7f\0\0\x2\0\0\0\x60\0\0\0"
				     "\xd\0erts_beamasm\0xx\2\0\0\0"
				     "\0\0\0\0\x20\0\0\0\0\0\0\0"
				     "\x1b\0erts_beamasm:normal_exit/0\0xx"
				     "\x20\0\0\0\x60\0\0\0\0\0\0\0\xb\0fibm:fib/1\0xx";
	static const char emulator[32];

	memcpy(data, module, sizeof(module));
	assert_true(code_object_parse(&object, data, sizeof(module)));
	assert_true(object.is_erlang);
	assert_false(object.has_frames);
	assert_int_equal(object.outermost.start, object.ranges.items[0].start);
	assert_int_equal(object.outermost.end, object.outermost.start + 0x20);
	code_object_release(&object);
	object = (struct code_object){0};
	/* The function ends beyond its module. */
	data[51] = 1;
	assert_true(code_object_parse(&object, data, sizeof(module)));
	assert_int_equal(object.outermost.end, 0);
	code_object_release(&object);
	object = (struct code_object){0};
	/* The object that describes the emulator has no code. */
	memcpy(data, emulator, sizeof(emulator));
	assert_true(code_object_parse(&object, data, sizeof(emulator)));
	assert_int_equal(object.ranges.count, 0);
}

CASE(neither_an_object_of_elf_nor_of_erlang)
{
	static const char text[] = "{\"version\": 1, \"code\": [1, 2, 3, 4, 5, 6, 7, 8]}";

	memcpy(data, text, sizeof(text));
	assert_false(code_object_parse(&object, data, sizeof(text)));
	assert_false(code_object_parse(&object, data, 0));
}

/* Nothing is read beyond a copy of exactly that size: sanitizers notice. */
CASE(an_object_cut_anywhere)
{
	size_t size = published_object(data, PUBLISHED_RELOCATABLE, CODE, SIZE);

	for (size_t cut = 0; cut < size; cut++) {
		uint8_t *copy = malloc(cut + 1);

		memcpy(copy, data, cut);
		code_object_parse(&object, copy, cut);
		code_object_release(&object);
		object = (struct code_object){0};
		free(copy);
	}
}
