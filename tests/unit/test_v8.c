/* SPDX-License-Identifier: MIT */
/* V8: files that contain it, functions as the kernel saw them, sources as they lie in memory. */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/code/runtimes/v8.h"
#include "tests/unit/runtime_file.h"
#include "tests/unit/script_layout.h"
#include "tests/unit/test.h"

TEST(files_tell_their_layout)
{
	static const struct {
		const char *file, *version;
		uint16_t function_shared, builtin, name, script, literal, scope_names, scope_start;
		uint16_t bytecode_data, positions, positions_type;
		bool names_builtins;
		uint8_t code_header, code_size, deopt_inlined; /* 0: their form is not known */
	} rows[] = {
		{"v8-10", "10.2", 24, 8, 16, 32, 52, 32, 0, 56, 32, 194, true, 128, 40, 7},
		{"v8-12", "12.6", 32, 8, 16, 32, 52, 32, 0, 64, 24, 212, true, 0, 0, 0},
		{"v8-13", "13.6", 32, 16, 24, 40, 60, 48, 32, 64, 24, 196, true, 0, 56, 8},
		{"v8-builtins-13", "13.6", 32, 16, 24, 40, 60, 48, 32, 64, 24, 196, false, 0, 56,
		 8},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct runtime_layout layout;
		const struct v8_layout *l = &layout.v8;
		char version[8];

		assert_int_equal(runtime_probed(rows[i].file, &layout, NULL), 0);
		assert_int_equal(layout.kind, RUNTIME_V8);
		runtime_write_version(&layout, version, sizeof(version));
		assert_string_equal(version, rows[i].version);
		assert_true(v8_layout_is_sane(l));
		assert_int_equal(l->function_shared, rows[i].function_shared);
		assert_int_equal(l->shared_builtin, rows[i].builtin);
		assert_int_equal(l->shared_name, rows[i].name);
		assert_int_equal(l->shared_script, rows[i].script);
		assert_int_equal(l->shared_literal, rows[i].literal);
		assert_int_equal(l->script_id, 64);
		assert_int_equal(l->scope_names, rows[i].scope_names);
		assert_int_equal(l->scope_start, rows[i].scope_start);
		assert_int_equal(l->bytecode_data, rows[i].bytecode_data);
		assert_int_equal(l->bytecode_positions, rows[i].positions);
		assert_int_equal(l->types[V8_POSITIONS], rows[i].positions_type);
		assert_int_equal(l->names_builtins, rows[i].names_builtins);
		assert_int_equal(l->code_header, rows[i].code_header);
		assert_int_equal(l->code_size, rows[i].code_size);
		assert_int_equal(l->deopt_inlined, rows[i].deopt_inlined);
	}
}

/* Stripped programs have the types of their version, which is the only text of its form. */
TEST(versions_tell_the_layout_of_programs_without_constants)
{
	struct runtime_layout layout;
	const struct v8_layout *l = &layout.v8;

	assert_int_equal(runtime_probed("v8-bare-13", &layout, NULL), 0);
	assert_int_equal(layout.kind, RUNTIME_V8);
	assert_int_equal(l->minor, 0);
	assert_int_equal(l->types[V8_SHARED], 280);
	assert_int_equal(l->types[V8_SCOPE], 278);
	assert_int_equal(l->scope_module, 5);
	assert_int_equal(l->array_length, 8);
	assert_int_equal(l->code_flags, 48);
	assert_int_equal(l->code_baseline, 10);
	assert_int_equal(runtime_probed("v8-bare-15", &layout, NULL), 0);
	assert_int_equal(layout.kind, RUNTIME_V8);
	assert_true(v8_layout_is_sane(l));
	assert_int_equal(l->major, 15);
	assert_int_equal(l->types[V8_SHARED], 278);
	assert_int_equal(l->types[V8_CODE], 186);
	assert_int_equal(l->scope_module, 3);
	assert_int_equal(l->array_length, 4);
	assert_int_equal(l->place_flags, 2);
	assert_int_equal(l->code_baseline, 11);
	assert_true(l->names_builtins);
	assert_int_equal(runtime_probed("v8-bare-two", &layout, NULL), 0);
	assert_int_equal(layout.kind, RUNTIME_NONE);
	assert_int_equal(runtime_probed("v8-bare-bun", &layout, NULL), 0);
	assert_int_equal(layout.kind, RUNTIME_NONE);
	assert_int_equal(runtime_probed("v8-bare-newer", &layout, NULL), 0);
	assert_int_equal(layout.kind, RUNTIME_NONE);
}

/* The types of a version depend on whether it compresses pointers. */
TEST(versions_tell_the_layout_of_compressed_objects)
{
	struct runtime_layout layout;
	const struct v8_layout *l = &layout.v8;

	assert_int_equal(runtime_probed("v8-bare-cage", &layout, NULL), 0);
	assert_int_equal(layout.kind, RUNTIME_V8);
	assert_true(v8_layout_is_sane(l));
	assert_int_equal(l->is_compressed, 1);
	assert_int_equal(l->minor, 6);
	assert_int_equal(l->types[V8_SHARED], 281);
	assert_int_equal(l->map_type, 8);
	assert_int_equal(l->bytecode_data, 36);
	assert_int_equal(l->stream_size, 16);
	assert_int_equal(runtime_probed("v8-bare-cage-newer", &layout, NULL), 0);
	assert_int_equal(layout.kind, RUNTIME_NONE);
}

TEST(what_cannot_be_followed_is_refused)
{
	runtime_refused("v8-9", -ENOTSUP, "V8 is older than 10");
	runtime_refused("v8-compressed-13", -ENOTSUP, "V8 13.6 compresses pointers");
	runtime_refused("v8-lacking-13", -ENOTSUP, "V8 without v8dbg_scopeinfo_idx_first_vars");
	runtime_refused("v8-patched-13", -EINVAL, "V8 13.6 has objects of an unknown form");
}

TEST(texts_become_utf8)
{
	static const uint16_t wide[] = {'a', 0xd83d, 0xde00, 0xd800, 'b', 0xdc00};
	struct strbuf text = {0};

	v8_text(1, "n\xe9", 3, &text);
	assert_string_equal(strbuf_text(&text), "n\xc3\xa9\xef\xbf\xbd");
	strbuf_reset(&text);
	v8_text(2, wide, sizeof(wide), &text);
	assert_string_equal(strbuf_text(&text), "a\xf0\x9f\x98\x80\xef\xbf\xbd"
						"b\xef\xbf\xbd");
	strbuf_reset(&text);
	/* The last character is cut, and so is the pair. */
	v8_text(2, wide, 5, &text);
	assert_string_equal(strbuf_text(&text), "a\xef\xbf\xbd");
	v8_text(4, wide, sizeof(wide), &text);
	assert_string_equal(strbuf_text(&text), "a\xef\xbf\xbd");
	strbuf_release(&text);
}

TEST(lines_begin_behind_their_ends)
{
	struct line_starts lines = {0};
	struct managed_code code = {.start = 2};
	static const uint16_t wide[] = {'x', 0x2028, 'y', 0x2029, 'z'};

	/* "\r\n" in two pieces is one end. */
	line_starts_add(&lines, 1, "a\nb\r", 4);
	line_starts_add(&lines, 1, "\nc\rd", 4);
	assert_int_equal(lines.length, 8);
	assert_int_equal(lines.rows.count, 3);
	assert_int_equal(lines.rows.items[0], 2);
	assert_int_equal(lines.rows.items[1], 5);
	assert_int_equal(lines.rows.items[2], 7);
	vec_push(&code.places, ((struct managed_place){3, 0, 0, 0}));
	vec_push(&code.places, ((struct managed_place){3, 6, 0, 0}));
	vec_push(&code.places, ((struct managed_place){9, 5, 0, 0}));
	vec_push(&code.places, ((struct managed_place){10, 1000, 0, 0}));
	runtime_set_lines(&code, 0, &lines, NULL);
	runtime_make_lines(&code);
	assert_int_equal(code.first_line, 2);
	assert_int_equal(code.lines.count, 2);
	assert_int_equal(code.lines.items[0].unit, 3);
	assert_int_equal(code.lines.items[0].line, 3);
	assert_int_equal(code.lines.items[1].unit, 10);
	assert_int_equal(code.lines.items[1].line, 0);
	managed_code_release(&code);
	line_starts_release(&lines);
	line_starts_add(&lines, 2, wide, sizeof(wide));
	assert_int_equal(lines.rows.count, 2);
	assert_int_equal(lines.rows.items[1], 4);
	line_starts_release(&lines);
}

struct function {
	struct rec_function rec;
	char body[256];
};

static void add(struct function *s, struct function_text *piece, const void *data, size_t size)
{
	memcpy(s->rec.body + function_body_size(&s->rec), data, size);
	*piece = (struct function_text){.size = (uint32_t)size, .width = 1};
}

TEST(a_function_becomes_code)
{
	const struct runtime_layout layout = {.kind = RUNTIME_V8};
	/* Units 2 and 7 (no statement begins there), at places 10 and 31. */
	static const uint8_t table[] = {0x06, 0x2c, 0x0b, 0x54};
	struct v8_function_head head = {.script = 0x101,
					.script_id = 7,
					.source_length = 40,
					.start = 5,
					.tier = V8_TIER_INTERPRETED};
	struct managed_code code = {0};
	struct function s = {.rec = {.units = 8}};
	char lines[sizeof(head) + sizeof(table)];

	memcpy(lines, &head, sizeof(head));
	memcpy(lines + sizeof(head), table, sizeof(table));
	add(&s, &s.rec.name, "m\xe9thode", 7);
	add(&s, &s.rec.file, "file:///a.mjs", 13);
	add(&s, &s.rec.lines, lines, sizeof(lines));
	runtime_v8.decode(&layout, &s.rec, &code);
	assert_string_equal(strbuf_text(&code.name), "m\xc3\xa9thode");
	assert_string_equal(strbuf_text(&code.file), "/a.mjs");
	assert_string_equal(code.tier, "Interpreter");
	assert_int_equal(code.start, 5);
	assert_int_equal(code.source.object, 0x101);
	assert_int_equal(code.source.id, 7);
	assert_int_equal(code.source.length, 40);
	assert_int_equal(code.places.count, 2);
	assert_int_equal(code.places.items[0].unit, 2);
	assert_int_equal(code.places.items[0].place, 10);
	assert_int_equal(code.places.items[1].unit, 7);
	assert_int_equal(code.places.items[1].place, 31);

	head.tier = V8_TIER_BASELINE;
	memcpy(lines, &head, sizeof(head));
	s = (struct function){.rec = {.units = 8}};
	add(&s, &s.rec.lines, lines, sizeof(lines));
	runtime_v8.decode(&layout, &s.rec, &code);
	assert_string_equal(code.tier, "Baseline");
	assert_int_equal(code.places.count, 0);

	/* Nothing but a head, of nonsense. */
	s = (struct function){.rec = {.units = 8}};
	head = (struct v8_function_head){.start = -9, .tier = 99};
	add(&s, &s.rec.lines, &head, sizeof(head));
	runtime_v8.decode(&layout, &s.rec, &code);
	assert_string_equal(strbuf_text(&code.name), "(anonymous)");
	assert_string_equal(strbuf_text(&code.file), "");
	assert_int_equal(code.start, -1);
	assert_int_equal(code.places.count, 0);

	/* The function by which JavaScript calls one of WebAssembly */
	s = (struct function){0};
	head = (struct v8_function_head){.start = -1, .tier = V8_TIER_BUILTIN};
	add(&s, &s.rec.name, "12", 2);
	add(&s, &s.rec.lines, &head, sizeof(head));
	runtime_v8.decode(&layout, &s.rec, &code);
	assert_string_equal(strbuf_text(&code.name), "js-to-wasm");
	managed_code_release(&code);
}

struct wanted_place {
	uint32_t unit;
	int32_t place;
};

static void check_places(const struct v8_layout *layout, const uint8_t *table, size_t size,
			 const struct wanted_place *wanted, size_t count)
{
	struct managed_code code = {0};

	v8_places(layout, table, size, 100, &code);
	assert_int_equal(code.places.count, count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(code.places.items[i].unit, wanted[i].unit);
		assert_int_equal(code.places.items[i].place, wanted[i].place);
	}
	managed_code_release(&code);
}

/* Tables that versions 13 and 14 have made of the same function. */
TEST(tables_tell_where_instructions_are_from)
{
	static const uint8_t old[] = {0x01, 0x70, 0x02, 0x58, 0x04, 0x48, 0x04, 0x14, 0x05,
				      0x00, 0x0a, 0x64, 0x09, 0x14, 0x11, 0x00, 0x0d, 0x50,
				      0x14, 0x9f, 0x01, 0x0b, 0x6f, 0x08, 0xac, 0x02};
	static const uint8_t new[] = {0x02, 0x70, 0x07, 0x58, 0x0b, 0x48, 0x0b, 0x14, 0x0a,
				      0x00, 0x1b, 0x64, 0x12, 0x14, 0x22, 0x00, 0x1a, 0x50,
				      0x2b, 0x9f, 0x01, 0x16, 0x6f, 0x13, 0xac, 0x02};
	static const struct wanted_place old_places[] = {{0, 27},   {0, 49},  {2, 67},	 {4, 72},
							 {6, 72},   {11, 97}, {15, 102}, {23, 102},
							 {29, 122}, {39, 82}, {44, 54},	 {48, 129}};
	static const struct wanted_place new_places[] = {{0, 27},   {0, 49},  {2, 67},	 {4, 72},
							 {6, 72},   {12, 97}, {16, 102}, {24, 102},
							 {30, 122}, {40, 82}, {45, 54},	 {49, 129}};
	/* V8 15.0. */
	static const uint8_t newest[] = {0x02, 0x34, 0x0b, 0x40, 0x13, 0x48, 0x13,
					 0x14, 0x12, 0x00, 0x2b, 0x40, 0x12, 0x1c};
	static const struct wanted_place newest_places[] = {{0, 12}, {0, 28},  {2, 46}, {4, 51},
							    {6, 51}, {11, 67}, {13, 74}};
	const struct v8_layout before = {0}, flagged = {.place_flags = 1};
	const struct v8_layout flagged_twice = {.place_flags = 2};

	check_places(&before, old, sizeof(old), old_places, 12);
	check_places(&flagged, new, sizeof(new), new_places, 12);
	check_places(&flagged_twice, newest, sizeof(newest), newest_places, 7);
}

TEST(damaged_tables_end_early)
{
	static const uint8_t endless[] = {0x80, 0x80}, half[] = {0x04}, far[] = {0x7e, 0x02};
	static const uint8_t large[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
					0xff, 0xff, 0xff, 0x01, 0};
	const struct v8_layout layout = {0};
	struct managed_code code = {0};

	v8_places(&layout, endless, sizeof(endless), 10, &code);
	v8_places(&layout, half, sizeof(half), 10, &code);
	v8_places(&layout, far, sizeof(far), 10, &code);
	v8_places(&layout, large, sizeof(large), 10, &code);
	assert_int_equal(code.places.count, 0);
	managed_code_release(&code);
}

/* The memory of a process: maps of a script and of strings, and such objects. */
enum {
	SCRIPT_MAP = 0x20,
	FLAT_MAP = 0x40,
	CONS_MAP = 0x60,
	SLICED_MAP = 0x80,
	THIN_MAP = 0xa0,
	WIDE_MAP = 0xc0,
	EXTERNAL_MAP = 0xe0,
	SCRIPT = 0x100,
	TEXT = 0x200,
	OTHER = 0x240,
	THIRD = 0x280,
	LETTERS = 0x2c0,
	HEAP_SIZE = 0x400,
};

struct heap {
	uint8_t data[HEAP_SIZE];
	unsigned int reads; /* until the script's text moves; 0: never */
};

static bool heap_read(void *ctx, uint64_t addr, void *to, size_t size)
{
	struct heap *heap = ctx;

	if (addr > HEAP_SIZE || size > HEAP_SIZE - addr)
		return false;
	memcpy(to, heap->data + addr, size);
	if (heap->reads && --heap->reads == 0)
		heap->data[SCRIPT + 8] ^= TEXT ^ OTHER;
	return true;
}

static void put(struct heap *heap, uint64_t at, uint64_t value)
{
	memcpy(heap->data + at, &value, sizeof(value));
}

static void put_string(struct heap *heap, uint64_t at, uint64_t map, uint64_t length)
{
	put(heap, at, map + 1);
	put(heap, at + 8, length << 32);
}

static void put_letters(struct heap *heap, uint64_t at, const char *text)
{
	put_string(heap, at, FLAT_MAP, strlen(text));
	memcpy(heap->data + at + 16, text, strlen(text));
}

static struct heap make_heap(void)
{
	static const struct {
		uint16_t map, type;
	} maps[] = {{SCRIPT_MAP, 167}, {FLAT_MAP, 8},  {CONS_MAP, 9},	  {SLICED_MAP, 11},
		    {THIN_MAP, 13},    {WIDE_MAP, 32}, {EXTERNAL_MAP, 10}};
	struct heap heap = {0};

	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]); i++)
		memcpy(heap.data + maps[i].map + 12, &maps[i].type, 2);
	put(&heap, SCRIPT, SCRIPT_MAP + 1);
	put(&heap, SCRIPT + 8, TEXT + 1);
	put(&heap, SCRIPT + 64, 7ull << 32);
	return heap;
}

/* Returns the text's number of lines; 0: it was not read. */
static size_t count_lines(struct heap *heap, uint32_t id)
{
	const struct managed_source source = {SCRIPT + 1, id, 0};
	struct line_starts lines = {0};
	size_t count = 0;

	if (v8_read_source(&script_layout, &source, heap_read, heap, &lines))
		count = lines.rows.count + 1;
	else
		assert_int_equal(lines.length, 0);
	line_starts_release(&lines);
	return count;
}

TEST(sources_are_strings_of_any_kind)
{
	struct heap heap = make_heap();

	put_letters(&heap, TEXT, "a\nb\nc");
	assert_int_equal(count_lines(&heap, 7), 3);
	/* Another script lies there. */
	assert_int_equal(count_lines(&heap, 8), 0);

	put_string(&heap, TEXT, CONS_MAP, 6);
	put(&heap, TEXT + 16, OTHER + 1);
	put(&heap, TEXT + 24, THIRD + 1);
	put_string(&heap, OTHER, THIN_MAP, 3);
	put(&heap, OTHER + 16, LETTERS + 1);
	put_letters(&heap, LETTERS, "\n\nx\ny");
	put_string(&heap, THIRD, SLICED_MAP, 2);
	put(&heap, THIRD + 16, LETTERS + 1);
	put(&heap, THIRD + 24, 3ull << 32);
	assert_int_equal(count_lines(&heap, 7), 4);

	put_string(&heap, TEXT, EXTERNAL_MAP, 3);
	put(&heap, TEXT + 24, LETTERS + 16);
	assert_int_equal(count_lines(&heap, 7), 3);
	put_string(&heap, TEXT, WIDE_MAP, 2);
	put(&heap, TEXT + 16, 0x2028 | '\n' << 16);
	assert_int_equal(count_lines(&heap, 7), 3);
}

TEST(forged_strings_end)
{
	struct heap heap = make_heap();

	/* Longer than the memory; longer than any text; both halves are itself; thin likewise. */
	put_string(&heap, TEXT, FLAT_MAP, HEAP_SIZE);
	assert_int_equal(count_lines(&heap, 7), 0);
	put_string(&heap, TEXT, FLAT_MAP, UINT32_MAX);
	assert_int_equal(count_lines(&heap, 7), 0);
	put_string(&heap, TEXT, CONS_MAP, 6);
	put(&heap, TEXT + 16, TEXT + 1);
	put(&heap, TEXT + 24, TEXT + 1);
	assert_int_equal(count_lines(&heap, 7), 0);
	put_string(&heap, TEXT, THIN_MAP, 6);
	assert_int_equal(count_lines(&heap, 7), 0);
	/* No string at all. */
	put_string(&heap, TEXT, SCRIPT_MAP, 6);
	assert_int_equal(count_lines(&heap, 7), 0);
}

TEST(a_text_that_moves_is_read_again)
{
	unsigned int reads = 0, moved = 0;

	for (struct heap heap = {.reads = 0}; !heap.reads; reads++) {
		heap = make_heap();
		put_letters(&heap, TEXT, "a\nb");
		put_letters(&heap, OTHER, "a\nb");
		heap.reads = reads + 1;
		assert_int_equal(count_lines(&heap, 7), 2);
		moved += !heap.reads;
		/* All reads are over before it moves. */
		if (heap.reads)
			break;
	}
	assert_true(moved > 5);
}
