/* SPDX-License-Identifier: MIT */
/* V8: code of regular expressions, as it lies in memory. */

#include <string.h>

#include "lib/code/runtimes/runtime.h"
#include "lib/code/runtimes/v8.h"
#include "tests/unit/script_layout.h"
#include "tests/unit/test.h"

/* The memory of a process: maps, by the type of their objects, then objects. */
enum {
	FLAT_MAP = 0x20,
	CODE_MAP = 0x40,
	OTHER_MAP = 0x60,
	PATTERN = 0x100,
	WRITTEN = 0x140,
	WRAPPER = 0x180,
	CODE = 0x200,
	DATA = 0x300,
	INSTRUCTIONS = 0x8400,
	SIZE = 0x180,
	HEAP_SIZE = 0x9000,
};

#define LONG_CODE 0x3000

static const struct runtime_layout streams = {
	.kind = RUNTIME_V8,
	.v8 = {V8_COMPILED_LAYOUT, .stream_size = 32, .code_baseline = 10, .major = 13},
};

/* The code begins with its object. */
static const struct runtime_layout headers = {
	.kind = RUNTIME_V8,
	.v8 = {.map_type = 12,
	       .string_end = 128,
	       .types = {[V8_CODE] = 187},
	       .code_header = 128,
	       .stream_size = 128,
	       .code_flags = 48,
	       .code_size = 40,
	       .code_baseline = 11,
	       .major = 10},
};

static uint8_t heap[HEAP_SIZE];

static bool heap_read(void *ctx, uint64_t addr, void *to, size_t size)
{
	if (addr > HEAP_SIZE || size > HEAP_SIZE - addr)
		return false;
	memcpy(to, heap + addr, size);
	return true;
}

static void put(uint64_t at, uint64_t value)
{
	memcpy(heap + at, &value, sizeof(value));
}

static void put_map(uint64_t at, uint16_t type)
{
	memcpy(heap + at + 12, &type, sizeof(type));
}

static void put_string(uint64_t at, const char *text)
{
	put(at, FLAT_MAP + 1);
	put(at + 8, (uint64_t)strlen(text) << 32);
	memcpy(heap + at + 16, text, strlen(text));
}

static void make_heap(uint64_t kind, uint64_t size)
{
	memset(heap, 0, sizeof(heap));
	put_map(FLAT_MAP, 8);
	put_map(CODE_MAP, 187);
	put_map(OTHER_MAP, 165);
	put_string(PATTERN, "^a/b$");
	put_string(WRITTEN, "^a\\/b$");
	put(WRAPPER, OTHER_MAP + 1);
	put(WRAPPER + 8, CODE + 1);
	put(CODE, CODE_MAP + 1);
	put(CODE + 32, WRAPPER + 1);
	put(CODE + 40, INSTRUCTIONS);
	put(CODE + 48, kind << 32);
	put(CODE + 56, size);
	put(INSTRUCTIONS - 32, OTHER_MAP + 1);
	put(INSTRUCTIONS - 24, CODE + 1);
}

static bool find(const struct runtime_layout *layout, uint64_t addr, struct sampled_code *code)
{
	*code = (struct sampled_code){0};
	return v8_find_regexp(layout, addr, heap_read, NULL, code);
}

/* Checks the name by the data's words, the last of which is at that place. */
static void expect_name(const uint64_t *words, size_t count, const char *wanted)
{
	struct sampled_code code = {0};
	uint64_t at = DATA;

	for (size_t i = 0; i < count; i++, at += 8)
		put(at, words[i]);
	strbuf_adds(&code.name, "RegExp:");
	assert_int_equal(v8_name_regexp(&streams, at - 8, heap_read, NULL, &code), wanted != NULL);
	assert_string_equal(code.name.text + strlen("RegExp:"), wanted ? wanted : "");
	strbuf_release(&code.name);
	memset(heap + DATA, 0, HEAP_SIZE - DATA);
}

#define EXPECT_NAME(wanted, ...) \
	expect_name((const uint64_t[]){__VA_ARGS__}, \
		    sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t), wanted)
#define SMALL(number) ((uint64_t)(number) << 32)

TEST(code_of_an_expression_is_found)
{
	struct sampled_code code;

	make_heap(3, SIZE);
	assert_true(find(&streams, INSTRUCTIONS + SIZE - 1, &code));
	assert_true(code.is_named);
	assert_int_equal(code.start, INSTRUCTIONS);
	assert_int_equal(code.size, SIZE);
	assert_int_equal(code.holders[0], CODE + 1);
	assert_int_equal(code.holders[1], WRAPPER + 1);
	assert_string_equal(code.name.text, "RegExp:");
	strbuf_release(&code.name);
	assert_false(find(&streams, INSTRUCTIONS + SIZE, &code));
	assert_false(find(&streams, INSTRUCTIONS - 1, &code));
}

TEST(other_code_has_no_name)
{
	struct sampled_code code;

	make_heap(4, SIZE);
	assert_true(find(&streams, INSTRUCTIONS, &code));
	assert_false(code.is_named);
	assert_int_equal(code.size, SIZE);
}

TEST(kinds_of_code_differ_by_version)
{
	struct runtime_layout newer = streams;
	struct sampled_code code;

	newer.v8.major = 14;
	newer.v8.code_baseline = 11;
	make_heap(4, SIZE);
	assert_true(find(&newer, INSTRUCTIONS, &code));
	assert_true(code.is_named);
	strbuf_release(&code.name);
}

TEST(code_with_its_object_before_it_is_found)
{
	struct sampled_code code;

	make_heap(0, 0);
	put(INSTRUCTIONS - 128, CODE_MAP + 1);
	put(INSTRUCTIONS - 128 + 40, SIZE);
	put(INSTRUCTIONS - 128 + 48, 3);
	assert_true(find(&headers, INSTRUCTIONS + 0x42, &code));
	assert_true(code.is_named);
	assert_int_equal(code.start, INSTRUCTIONS);
	assert_int_equal(code.holders[0], INSTRUCTIONS - 128 + 1);
	assert_int_equal(code.holders[1], 0);
	strbuf_release(&code.name);
}

TEST(code_that_is_not_there_is_not_found)
{
	struct runtime_layout compressed = streams, older = streams;
	struct sampled_code code;

	make_heap(3, SIZE);
	compressed.v8.is_compressed = 1;
	older.v8.code_size = 0;
	assert_false(find(&compressed, INSTRUCTIONS, &code));
	assert_false(find(&older, INSTRUCTIONS, &code));
	/* The object belongs to other instructions, or is none. */
	put(CODE + 40, INSTRUCTIONS + 64);
	assert_false(find(&streams, INSTRUCTIONS, &code));
	make_heap(3, 1u << 30);
	assert_false(find(&streams, INSTRUCTIONS, &code));
	make_heap(3, SIZE);
	put(INSTRUCTIONS - 24, HEAP_SIZE + 1);
	assert_false(find(&streams, INSTRUCTIONS, &code));
}

TEST(data_tells_the_pattern)
{
	make_heap(3, SIZE);
	/* V8 10 to 12: an array */
	EXPECT_NAME("^a/b$", OTHER_MAP + 1, SMALL(12), SMALL(2), PATTERN + 1, 0, CODE + 1);
	EXPECT_NAME("^a/b$", OTHER_MAP + 1, SMALL(12), SMALL(2), PATTERN + 1, SMALL(4), 0,
		    CODE + 1);
	EXPECT_NAME("^a/b$", OTHER_MAP + 1, SMALL(12), SMALL(2), PATTERN + 1, SMALL(4), CODE + 1,
		    CODE + 1);
	/* From 12.9 on */
	EXPECT_NAME("^a/b$", OTHER_MAP + 1, SMALL(1), PATTERN + 1, 0, WRAPPER + 1, CODE + 1);
	EXPECT_NAME("^a/b$", OTHER_MAP + 1, SMALL(1), PATTERN + 1, 0, WRAPPER + 1, 0, CODE + 1);
	/* From 14.9 on */
	EXPECT_NAME("^a\\/b$", OTHER_MAP + 1, SMALL(1), WRITTEN + 1, PATTERN + 1, 0, WRAPPER + 1, 0,
		    0, 0, 0, CODE + 1);
}

TEST(other_objects_tell_no_pattern)
{
	make_heap(3, SIZE);
	EXPECT_NAME(NULL, OTHER_MAP + 1, CODE + 1);
	EXPECT_NAME(NULL, OTHER_MAP + 1, SMALL(9), PATTERN + 1, 0, CODE + 1);
	EXPECT_NAME(NULL, OTHER_MAP + 1, SMALL(1), OTHER_MAP + 1, 0, CODE + 1);
	EXPECT_NAME(NULL, SMALL(1), PATTERN + 1, CODE + 1);
	put(PATTERN + 8, (uint64_t)LONG_CODE << 32);
	EXPECT_NAME(NULL, OTHER_MAP + 1, SMALL(1), PATTERN + 1, 0, CODE + 1);
}
