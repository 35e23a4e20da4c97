/* SPDX-License-Identifier: MIT */
/* V8 with compressed pointers, with code in memory of its own or beside the other objects. */

#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/code/runtimes/runtime.h"
#include "lib/code/runtimes/v8.h"
#include "tests/unit/script_layout.h"
#include "tests/unit/test.h"

/* Lower halves of addresses. */
enum {
	SCRIPT_MAP = 0x20,
	FLAT_MAP = 0x40,
	CODE_MAP = 0x60,
	TABLE_MAP = 0x80,
	SHARED_MAP = 0xa0,
	SCOPE_MAP = 0xc0,
	THIN_MAP = 0xe0,
	SCRIPT = 0x100,
	SHARED = 0x140,
	SCOPE = 0x180,
	NAME = 0x1c0,
	THIN = 0x1e0,
	FILE_NAME = 0x200,
	SOURCE = 0x220,
	CODE = 0x280,
	DEOPT = 0x2c0,
	LITERALS = 0x300,
	CALLS = 0x320,
	TABLE = 0x340,
	CAGE_SIZE = 0x400,
	UNITS = 100,
};

#define CAGE 0x100000000000
#define OWN_CAGE 0x200000000000
#define START 0x7f0012345640

struct heap {
	uint8_t data[2][CAGE_SIZE];
	bool is_split; /* code is in a cage of its own */
};

static bool heap_read(void *ctx, uint64_t addr, void *to, size_t size)
{
	struct heap *heap = ctx;
	uint64_t half = addr & UINT32_MAX, cage = addr - half;

	if (half > CAGE_SIZE || size > CAGE_SIZE - half ||
	    (cage != CAGE && (cage != OWN_CAGE || !heap->is_split)))
		return false;
	memcpy(to, heap->data[cage == OWN_CAGE] + half, size);
	return true;
}

static void put(struct heap *heap, uint32_t at, uint32_t value)
{
	memcpy(heap->data[0] + at, &value, sizeof(value));
}

static void put_own(struct heap *heap, uint32_t at, uint32_t value)
{
	memcpy(heap->data[heap->is_split] + at, &value, sizeof(value));
}

static void put_string(struct heap *heap, uint32_t at, const char *text)
{
	put(heap, at, FLAT_MAP + 1);
	put(heap, at + 8, (uint32_t)strlen(text));
	memcpy(heap->data[0] + at + 12, text, strlen(text));
}

static uint32_t small(uint32_t value)
{
	return value << 1;
}

/* outer() calls inner() [20, 30) at 5, which is at 23. Lengths are small integers, or numbers. */
static struct heap make_heap(bool is_split, bool has_small_lengths)
{
	static const struct {
		uint16_t map, type;
	} maps[] = {{SCRIPT_MAP, 167}, {FLAT_MAP, 8},	 {CODE_MAP, 187}, {TABLE_MAP, 196},
		    {SHARED_MAP, 282}, {SCOPE_MAP, 270}, {THIN_MAP, 13}};
	/* The unit from -1 on, and the position: 24, of the first call. */
	static const uint8_t table[] = {0x0c, 0xe0, 0x80, 0x80, 0x80, 0x10};
	const uint32_t code = CODE + (is_split ? 4 : 0);
	const uint64_t start = START, call = 6 << 1;
	struct heap heap = {.is_split = is_split};

	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++)
		memcpy(heap.data[0] + maps[i].map + 8, &maps[i].type, 2);
	put(&heap, SCRIPT, SCRIPT_MAP + 1);
	put(&heap, SCRIPT + 4, SOURCE + 1);
	put(&heap, SCRIPT + 8, FILE_NAME + 1);
	put(&heap, SCRIPT + 32, small(7));
	put(&heap, SHARED, SHARED_MAP + 1);
	put(&heap, SHARED + 12, SCOPE + 1);
	put(&heap, SHARED + 20, SCRIPT + 1);
	put(&heap, SHARED + 36, 3);
	put(&heap, SCOPE, SCOPE_MAP + 1);
	put(&heap, SCOPE + 4, 0x80000010); /* the kind of scope is 0 */
	put(&heap, SCOPE + 16, small(20));
	put(&heap, SCOPE + 20, small(30));
	put(&heap, SCOPE + 24, THIN + 1);
	put(&heap, THIN, THIN_MAP + 1);
	put(&heap, THIN + 12, NAME + 1);
	put_string(&heap, NAME, "inner");
	put_string(&heap, FILE_NAME, "file:///a.mjs");
	put_string(&heap, SOURCE, "one\ntwo\nthree\nfour");
	put_own(&heap, CODE, CODE_MAP + 1);
	put_own(&heap, code + 4, DEOPT + 1);
	put_own(&heap, code + 8, TABLE + 1);
	memcpy(heap.data[is_split] + code + 20, &start, sizeof(start));
	put_own(&heap, code + 36, UNITS);
	put_own(&heap, DEOPT + 4, has_small_lengths ? small(12) : 12);
	put_own(&heap, DEOPT + 8 + 4, small(1));
	put_own(&heap, DEOPT + 8 + 12, LITERALS + 1);
	put_own(&heap, DEOPT + 8 + 32, CALLS + 1);
	put_own(&heap, LITERALS + 4, has_small_lengths ? small(1) : 1);
	put_own(&heap, LITERALS + 8, SHARED + 3); /* a weak reference */
	put_own(&heap, CALLS + 4, has_small_lengths ? small(16) : 16);
	memcpy(heap.data[is_split] + CALLS + 8, &call, sizeof(call));
	put_own(&heap, TABLE, TABLE_MAP + 1);
	put_own(&heap, TABLE + 4, has_small_lengths ? small(sizeof(table)) : sizeof(table));
	memcpy(heap.data[is_split] + TABLE + 8, table, sizeof(table));
	return heap;
}

static struct runtime_layout make_layout(bool has_small_lengths)
{
	struct runtime_layout layout = {.kind = RUNTIME_V8, .v8 = {V8_COMPILED_LAYOUT}};

	layout.v8.is_compressed = 1;
	layout.v8.map_type = 8;
	layout.v8.array_length = has_small_lengths ? 8 : 4;
	return layout;
}

/* Maps of objects in a cage of code are in the other one. */
TEST(compressed_code_tells_its_calls)
{
	for (unsigned int i = 0; i < 4; i++) {
		struct heap heap = make_heap(i & 1, i & 2);
		struct runtime_layout layout = make_layout(i & 2);
		struct {
			struct rec_function rec;
			struct v8_function_head own;
		} function = {
			.rec = {.units = UNITS,
				.lines = {.size = sizeof(struct v8_function_head), .width = 1}},
			.own = {.script = CAGE + SCRIPT + 1,
				.script_id = 7,
				.end = 15,
				.tier = V8_TIER_OPTIMIZED,
				.code = (i & 1 ? OWN_CAGE : CAGE) + CODE + 1,
				.code_start = START},
		};
		struct known_functions known = {0};
		struct managed_code code = {0};

		assert_true(
			v8_read_inlined(&layout, &function.rec, &known, heap_read, &heap, &code));
		assert_int_equal(code.places.count, 2);
		assert_int_equal(code.places.items[0].unit, 5);
		assert_int_equal(code.places.items[0].place, 5);
		assert_int_equal(code.places.items[1].place, 23);
		assert_int_equal(code.inlined.count, 1);
		assert_string_equal(strbuf_text(&code.inlined.items[0].name), "inner");
		assert_string_equal(strbuf_text(&code.inlined.items[0].file), "/a.mjs");
		assert_int_equal(code.inlined.items[0].start, 20);
		assert_int_equal(code.inlined.items[0].source.id, 7);
		assert_int_equal(code.inlined.items[0].source.length, 18);
		known_functions_release(&known);
		managed_code_release(&code);
	}
}

TEST(compressed_sources_are_read)
{
	struct heap heap = make_heap(true, true);
	struct runtime_layout layout = make_layout(true);
	struct managed_source source = {.object = CAGE + SCRIPT + 1, .id = 7};
	struct line_starts lines = {0};

	assert_true(v8_read_source(&layout, &source, heap_read, &heap, &lines));
	assert_int_equal(lines.rows.count, 3);
	line_starts_release(&lines);
	source.id = 8;
	assert_false(v8_read_source(&layout, &source, heap_read, &heap, &lines));
	line_starts_release(&lines);
	/* Claim more characters than there are. */
	source.id = 7;
	put(&heap, SOURCE + 8, UINT32_MAX);
	assert_false(v8_read_source(&layout, &source, heap_read, &heap, &lines));
	line_starts_release(&lines);
}
