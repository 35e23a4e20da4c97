/* SPDX-License-Identifier: MIT */
/* V8: what compiled code was made from, as it lies in memory. */

#include <string.h>

#include "lib/code/runtimes/runtime.h"
#include "lib/code/runtimes/v8.h"
#include "tests/unit/script_layout.h"
#include "tests/unit/test.h"

/* The memory of a process: maps, by the type of their objects, then objects. */
enum {
	SCRIPT_MAP = 0x20,
	FLAT_MAP = 0x40,
	CODE_MAP = 0x60,
	TABLE_MAP = 0x80,
	SHARED_MAP = 0xa0,
	SCOPE_MAP = 0xc0,
	SCRIPT = 0x100,
	CODE = 0x180,
	DEOPT = 0x200,
	LITERALS = 0x300,
	CALLS = 0x350, /* behind map and length */
	TABLE = 0x3c0,
	MIDDLE = 0x440, /* functions, their scopes and names */
	LEAF = 0x480,
	MIDDLE_SCOPE = 0x4c0,
	LEAF_SCOPE = 0x520,
	MIDDLE_NAME = 0x580,
	LEAF_NAME = 0x5a0,
	FILE_NAME = 0x5c0,
	HEAP_SIZE = 0x600,
	START = 0x7000, /* of the instructions */
	UNITS = 100,
};

struct heap {
	uint8_t data[HEAP_SIZE];
	unsigned int reads; /* until the table of places is replaced; 0: never */
};

static const struct runtime_layout layout = {
	.kind = RUNTIME_V8,
	.v8 = {V8_COMPILED_LAYOUT},
};

static bool heap_read(void *ctx, uint64_t addr, void *to, size_t size)
{
	struct heap *heap = ctx;

	if (addr > HEAP_SIZE || size > HEAP_SIZE - addr)
		return false;
	memcpy(to, heap->data + addr, size);
	if (heap->reads && --heap->reads == 0)
		heap->data[CODE + 16] ^= 8;
	return true;
}

static void put(struct heap *heap, uint64_t at, uint64_t value)
{
	memcpy(heap->data + at, &value, sizeof(value));
}

static void put_string(struct heap *heap, uint64_t at, const char *text)
{
	put(heap, at, FLAT_MAP + 1);
	put(heap, at + 8, (uint64_t)strlen(text) << 32);
	memcpy(heap->data + at + 16, text, strlen(text));
}

static void put_function(struct heap *heap, uint64_t at, uint64_t scope, uint64_t name,
			 uint64_t number, uint64_t start)
{
	put(heap, at, SHARED_MAP + 1);
	put(heap, at + 24, scope + 1);
	put(heap, at + 40, SCRIPT + 1);
	put(heap, at + 56, number << 32);
	put(heap, scope, SCOPE_MAP + 1);
	put(heap, scope + 32, start << 32);
	put(heap, scope + 40, (start + 10) << 32);
	put(heap, scope + 48, name + 1);
}

/* A place in a source and the call that it belongs to, from 1 on; 0: none. */
static uint64_t place(uint64_t characters, uint64_t call)
{
	return (characters + 1) << 1 | call << 31;
}

static void put_call(struct heap *heap, uint64_t number, uint64_t at, uint32_t function)
{
	put(heap, CALLS + 16 * number, at);
	put(heap, CALLS + 16 * number + 8, function);
}

static size_t put_number(uint8_t *to, int64_t value)
{
	uint64_t bits = (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
	size_t size = 0;

	for (; bits > 0x7f; bits >>= 7)
		to[size++] = (uint8_t)(bits | 0x80);
	to[size++] = (uint8_t)bits;
	return size;
}

static void put_table(struct heap *heap, const uint64_t (*rows)[2], size_t count)
{
	uint64_t unit = (uint64_t)V8_POSITION_BEGIN, last = 0, size = 0;

	for (size_t i = 0; i < count; i++) {
		uint8_t *at = heap->data + TABLE + 16 + size;
		size_t first = put_number(at, (int64_t)(rows[i][0] - unit));

		size += first + put_number(at + first, (int64_t)(rows[i][1] - last));
		unit = rows[i][0];
		last = rows[i][1];
	}
	put(heap, TABLE, TABLE_MAP + 1);
	put(heap, TABLE + 8, size << 32);
}

/* outer() [0, 50) calls middle() [60, 70) at 5, which calls leaf() [80, 90) at 65. */
static struct heap make_heap(void)
{
	static const struct {
		uint16_t map, type;
	} maps[] = {{SCRIPT_MAP, 167}, {FLAT_MAP, 8},	  {CODE_MAP, 187},
		    {TABLE_MAP, 196},  {SHARED_MAP, 282}, {SCOPE_MAP, 270}};
	const uint64_t rows[][2] = {{4, place(3, 0)}, {20, place(82, 2)}, {40, place(66, 1)}};
	struct heap heap = {0};

	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++)
		memcpy(heap.data + maps[i].map + 12, &maps[i].type, 2);
	put(&heap, SCRIPT, SCRIPT_MAP + 1);
	put(&heap, SCRIPT + 16, FILE_NAME + 1);
	put(&heap, SCRIPT + 64, 7ull << 32);
	put(&heap, CODE, CODE_MAP + 1);
	put(&heap, CODE + 8, DEOPT + 1);
	put(&heap, CODE + 16, TABLE + 1);
	put(&heap, CODE + 40, START);
	put(&heap, CODE + 56, UNITS);
	put(&heap, DEOPT + 8, 12ull << 32);
	put(&heap, DEOPT + 24, 2ull << 32);
	put(&heap, DEOPT + 16 + 24, LITERALS + 1);
	put(&heap, DEOPT + 16 + 64, CALLS - 16 + 1);
	put(&heap, LITERALS + 8, 2ull << 32);
	/* A weak reference. */
	put(&heap, LITERALS + 16, MIDDLE + 3);
	put(&heap, LITERALS + 24, LEAF + 1);
	put(&heap, CALLS - 8, 32ull << 32);
	put_call(&heap, 0, place(5, 0), 0);
	put_call(&heap, 1, place(65, 1), 1);
	put_table(&heap, rows, 3);
	put_function(&heap, MIDDLE, MIDDLE_SCOPE, MIDDLE_NAME, 3, 60);
	put_function(&heap, LEAF, LEAF_SCOPE, LEAF_NAME, 4, 80);
	put_string(&heap, MIDDLE_NAME, "middle");
	put_string(&heap, LEAF_NAME, "leaf");
	put_string(&heap, FILE_NAME, "file:///a.mjs");
	return heap;
}

struct function {
	struct rec_function rec;
	struct v8_function_head own;
};

static struct function make_function(void)
{
	return (struct function){
		.rec = {.units = UNITS,
			.lines = {.size = sizeof(struct v8_function_head), .width = 1}},
		.own = {.script = SCRIPT + 1,
			.script_id = 7,
			.start = 0,
			.end = 50,
			.tier = V8_TIER_OPTIMIZED,
			.code = CODE + 1,
			.code_start = START},
	};
}

static bool read_code(struct heap *heap, const struct function *function, struct managed_code *code)
{
	struct known_functions known = {0};
	bool is_read = v8_read_inlined(&layout, &function->rec, &known, heap_read, heap, code);

	known_functions_release(&known);
	return is_read;
}

static void check_place(const struct managed_code *code, size_t i, uint32_t unit, int32_t at,
			const char *name)
{
	const struct managed_place *found = &code->places.items[i];

	assert_true(i < code->places.count);
	assert_int_equal(found->unit, unit);
	assert_int_equal(found->place, at);
	if (!name)
		assert_int_equal(found->function, 0);
	else
		assert_string_equal(strbuf_text(&code->inlined.items[found->function - 1].name),
				    name);
}

TEST(code_tells_its_calls)
{
	struct heap heap = make_heap();
	struct function function = make_function();
	struct managed_code code = {0};

	assert_true(read_code(&heap, &function, &code));
	assert_int_equal(code.places.count, 6);
	check_place(&code, 0, 4, 3, NULL);
	check_place(&code, 1, 20, 5, NULL);
	check_place(&code, 2, 20, 65, "middle");
	check_place(&code, 3, 20, 82, "leaf");
	check_place(&code, 4, 40, 5, NULL);
	check_place(&code, 5, 40, 66, "middle");
	assert_int_equal(code.inlined.count, 2);
	assert_string_equal(strbuf_text(&code.inlined.items[0].file), "/a.mjs");
	assert_int_equal(code.inlined.items[0].start, 60);
	assert_int_equal(code.inlined.items[0].source.id, 7);
	managed_code_release(&code);
}

TEST(a_place_of_an_inlined_function_is_its_own)
{
	const uint64_t rows[][2] = {{1, place(83, 0)}, {2, place(55, 0)}, {3, place(9, 0)}};
	struct heap heap = make_heap();
	struct function function = make_function();
	struct managed_code code = {0};

	put_table(&heap, rows, 3);
	assert_true(read_code(&heap, &function, &code));
	assert_int_equal(code.places.count, 5);
	check_place(&code, 2, 1, 83, "leaf");
	/* Takes the definition for a place in no inlined function. */
	check_place(&code, 3, 2, 0, NULL);
	check_place(&code, 4, 3, 9, NULL);
	managed_code_release(&code);
}

TEST(a_function_may_be_taken_into_itself)
{
	struct heap heap = make_heap();
	struct function function = make_function();
	struct managed_code code = {.first_line = 12, .source = {SCRIPT + 1, 7, 0}};

	strbuf_add(&code.name, "outer", 5);
	/* outer() calls middle(), which calls outer(): no literal is listed for it. */
	put_call(&heap, 1, place(65, 1), UINT32_MAX);
	put_table(&heap, (const uint64_t[][2]){{20, place(8, 2)}, {30, place(9, 2)}}, 2);
	assert_true(read_code(&heap, &function, &code));
	assert_int_equal(code.places.count, 6);
	check_place(&code, 0, 20, 5, NULL);
	check_place(&code, 1, 20, 65, "middle");
	check_place(&code, 2, 20, 8, "outer");
	check_place(&code, 5, 30, 9, "outer");
	assert_int_equal(code.inlined.count, 2);
	assert_int_equal(code.inlined.items[1].start, 0);
	assert_int_equal(code.inlined.items[1].end, 50);
	assert_int_equal(code.inlined.items[1].first_line, 12);
	assert_int_equal(code.inlined.items[1].source.id, 7);
	managed_code_release(&code);
}

TEST(code_without_places_tells_that_it_hides_calls)
{
	struct heap heap = make_heap();
	struct function function = make_function();
	struct managed_code code = {0};

	put(&heap, TABLE + 8, 0);
	assert_false(read_code(&heap, &function, &code));
	assert_true(code.hides_inlined);
	put(&heap, CALLS - 8, 0);
	assert_true(read_code(&heap, &function, &code));
	assert_false(code.hides_inlined);
	managed_code_release(&code);
}

TEST(other_code_is_not_taken_for_it)
{
	struct heap heap = make_heap();
	struct function function = make_function();
	struct managed_code code = {0};

	function.rec.units++;
	assert_false(read_code(&heap, &function, &code));
	function.rec.units--;
	function.own.code_start += 64;
	assert_false(read_code(&heap, &function, &code));
	function.own.code_start -= 64;
	put(&heap, CODE, SHARED_MAP + 1);
	assert_false(read_code(&heap, &function, &code));
	put(&heap, CODE, CODE_MAP + 1);
	put(&heap, DEOPT + 8, 0);
	assert_false(read_code(&heap, &function, &code));
	assert_int_equal(code.places.count, 0);
	managed_code_release(&code);
}

TEST(what_changes_meanwhile_is_not_believed)
{
	struct managed_code code = {0};
	unsigned int refused = 0;

	for (unsigned int reads = 1;; reads++) {
		struct heap heap = make_heap();
		struct function function = make_function();

		heap.reads = reads;
		if (!read_code(&heap, &function, &code))
			refused++;
		if (heap.reads)
			break;
		assert_true(reads < 1000);
		managed_code_release(&code);
	}
	assert_true(refused > 10);
	managed_code_release(&code);
}

TEST(forged_calls_end)
{
	struct function function = make_function();
	struct managed_code code = {0};
	struct heap heap = make_heap();

	/* Each the caller of the other; one that is not listed; of a function that is not. */
	put_call(&heap, 0, place(5, 2), 0);
	assert_true(read_code(&heap, &function, &code));
	assert_int_equal(code.places.count, 1);
	managed_code_release(&code);
	heap = make_heap();
	put_call(&heap, 1, place(5, 9), 0);
	assert_true(read_code(&heap, &function, &code));
	assert_int_equal(code.places.count, 3);
	managed_code_release(&code);
	heap = make_heap();
	put_call(&heap, 1, place(65, 1), 9);
	assert_true(read_code(&heap, &function, &code));
	assert_int_equal(code.places.count, 5);
	managed_code_release(&code);
	/* Longer than anything. */
	heap = make_heap();
	put(&heap, TABLE + 8, UINT64_MAX);
	assert_false(read_code(&heap, &function, &code));
	heap = make_heap();
	put(&heap, CALLS - 8, UINT64_MAX);
	assert_false(read_code(&heap, &function, &code));
	managed_code_release(&code);
}
