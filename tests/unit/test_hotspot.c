/* SPDX-License-Identifier: MIT */
/* Methods of a JVM: their names, lines and inlined calls, as they lie in memory. */
#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/code/runtimes/hotspot_names.h"
#include "tests/unit/test.h"

enum {
	METHOD = 0x500,
	CONST_METHOD = 0x540,
	INNER_METHOD = 0x5c0,
	INNER_CONST = 0x600,
	POOL = 0x680, /* of both */
	KLASS = 0x740,
	SYMBOLS = 0x780,
	BLOB = 0x880,
	PLACES = 0xa00,
	SCOPES = 0xa80,
	METADATA = 0xac0,
	SIZE = 0xc00,
	CODE = 0x7000, /* the compiled one */
	CODE_SIZE = 8, /* of the bytecode */
	UNITS = 101,
};

static uint8_t memory[SIZE], machine_code[UNITS];

static const struct runtime_layout layout = {
	.kind = RUNTIME_HOTSPOT,
	.hotspot =
		{
			.version = 17,
			.flags = HOTSPOT_IS_COMPLETE,
			.method = 112,
			.compile_id = 304,
			.scopes_data = 120,
			.scopes_pcs = 268,
			.metadata = 260,
			.const_method = 8,
			.const_pool = 8,
			.const_flags = 28,
			.const_code_size = 32,
			.const_name = 34,
			.const_signature = 36,
			.const_size = 48,
			.pool_holder = 24,
			.pool_source = 54,
			.pool_size = 72,
			.klass_name = 24,
			.symbol_length = 4,
			.symbol_text = 6,
		},
};

static bool read_memory(void *ctx, uint64_t addr, void *to, size_t size)
{
	/* Fill what lies behind the memory with zeros. */
	memset(to, 0, size);
	if (addr >= CODE && addr - CODE + size <= UNITS) {
		memcpy(to, machine_code + (addr - CODE), size);
		return true;
	}
	if (addr >= SIZE)
		return false;
	memcpy(to, memory + addr, addr + size > SIZE ? SIZE - addr : size);
	return true;
}

static void put(uint64_t at, const void *bytes, size_t size)
{
	memcpy(memory + at, bytes, size);
}

static void put_word(uint64_t at, uint64_t word)
{
	put(at, &word, sizeof(word));
}

static void put_int(uint64_t at, uint32_t value)
{
	put(at, &value, sizeof(value));
}

static void put_short(uint64_t at, uint16_t value)
{
	put(at, &value, sizeof(value));
}

/* Puts a Symbol as entry `index` of the pool, and returns its address. */
static uint64_t put_symbol(uint16_t index, const char *text)
{
	uint64_t at = SYMBOLS + index * 40ull;

	put_short(at + 4, (uint16_t)strlen(text));
	put(at + 6, text, strlen(text));
	put_word(POOL + 72 + 8ull * index, at);
	return at;
}

static void put_method(uint64_t method, uint64_t const_method, uint16_t name, const char *lines,
		       size_t size)
{
	put_word(method + 8, const_method);
	put_word(const_method + 8, POOL);
	put_short(const_method + 28, 1);
	put_short(const_method + 32, CODE_SIZE);
	put_short(const_method + 34, name);
	put(const_method + 48 + CODE_SIZE, lines, size);
}

static void set_up(void)
{
	memset(memory, 0, sizeof(memory));
	memset(machine_code, 0x90, sizeof(machine_code));
	put_symbol(1, "outer");
	put_symbol(2, "inner");
	put_symbol(3, "Spin.java");
	put_word(KLASS + 24, put_symbol(4, "com/example/Spin"));
	put_word(POOL + 24, KLASS);
	put_short(POOL + 54, 3);
	/* Line 10 from bytecode 0 on, 12 from 3 on; the second method: 300. */
	put_method(METHOD, CONST_METHOD, 1, "\xff\x00\x14\x1a", 5);
	put_method(INNER_METHOD, INNER_CONST, 2, "\xff\x00\xd8\x06", 5);
	put_word(BLOB + 112, METHOD);
	put_int(BLOB + 304, 77);
	put_word(BLOB + 120, SCOPES);
	put_int(BLOB + 268, PLACES - BLOB);
	put_int(BLOB + 260, METADATA - BLOB);
	put_word(METADATA, METHOD);
	put_word(METADATA + 8, INNER_METHOD);
	/* Scope 1: the outer one at bytecode 3; 4: the inner one at 0, called by that. */
	put(SCOPES + 1, "\x00\x01\x04\x01\x02\x01", 6);
	put_int(PLACES, UINT32_MAX);
	put_int(PLACES + 16, 20);
	put_int(PLACES + 20, 1);
	put_int(PLACES + 32, 50);
	put_int(PLACES + 36, 4);
	put_int(PLACES + 48, INT32_MAX);
}

static bool wants_types;
static uint64_t stubs;

static struct rec_function *make_function(uint8_t kind, const char *holder, const char *name)
{
	const struct hotspot_function_head head = {
		.blob = kind == HOTSPOT_COMPILED ? BLOB : 0,
		.method = kind == HOTSPOT_STUB ? 0 : METHOD,
		.const_method = kind == HOTSPOT_INTERPRETED ? CONST_METHOD : stubs,
		.code = stubs || kind == HOTSPOT_COMPILED ? CODE : 0,
		.compile_id = 77,
		.kind = kind,
		.level = 4,
	};
	size_t name_size = strlen(name), holder_size = strlen(holder);
	struct rec_function *f = xcalloc(1, sizeof(*f) + name_size + holder_size + sizeof(head));

	f->units = UNITS;
	f->name = (struct function_text){.size = (uint32_t)name_size, .width = 1};
	f->file = (struct function_text){.size = (uint32_t)holder_size, .width = 1};
	f->lines = (struct function_text){.size = sizeof(head), .width = 1};
	memcpy(f->body, name, name_size);
	memcpy(f->body + name_size, holder, holder_size);
	memcpy(f->body + name_size + holder_size, &head, sizeof(head));
	return f;
}

/* Decodes a function, and reads the rest. */
static bool describe(uint8_t kind, const char *holder, const char *name, struct managed_code *code)
{
	struct rec_function *f = make_function(kind, holder, name);
	bool is_read;

	*code = (struct managed_code){0};
	runtime_hotspot.decode(&layout, f, code);
	code->wants_types = wants_types;
	is_read = hotspot_late(&layout, f, read_memory, NULL, code);
	free(f);
	return is_read;
}

TEST(name_has_its_class_with_dots_and_no_number)
{
	static const struct {
		const char *holder, *name, *whole;
	} rows[] = {
		{"Main", "main", "Main.main"},
		{"java/util/Map$Entry", "<init>", "java.util.Map$Entry.<init>"},
		{"a/B$$Lambda$14/0x0000000800c03000", "run", "a.B$$Lambda$14.run"},
		{"a/B$$Lambda+0x00007f2a4c001000", "run", "a.B$$Lambda.run"},
		{"a/cafe", "x", "a.cafe.x"},
		{"a/B0x12", "x", "a.B0x12.x"},
		{"\xff", "x", "?.x"},
		{"", "vtable chunks", "vtable chunks"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct strbuf name = {0};

		hotspot_set_name(&name, rows[i].holder, strlen(rows[i].holder), rows[i].name,
				 strlen(rows[i].name));
		assert_string_equal(name.text, rows[i].whole);
		strbuf_release(&name);
	}
}

TEST(numbers_are_of_both_forms)
{
	struct hotspot_memory m = {.read = read_memory};
	struct hotspot_numbers old = {&m, 0xb00, false, false}, new = {&m, 0xb10, true, false};

	set_up();
	put(0xb00, "\x05\xbf\xc0\x01", 4);
	put(0xb10, "\x06\xbf\xc0\x02\0", 5);
	assert_int_equal(hotspot_next_number(&old), 5);
	assert_int_equal(hotspot_next_number(&old), 191);
	assert_int_equal(hotspot_next_number(&old), 192 + 64);
	assert_int_equal(hotspot_next_number(&new), 5);
	assert_int_equal(hotspot_next_number(&new), 190);
	assert_int_equal(hotspot_next_number(&new), 191 + 64);
	assert_false(new.is_bad);
	hotspot_next_number(&new);
	assert_true(new.is_bad);
}

TEST(interpreted_method_has_lines_by_bytecode)
{
	struct managed_code code;

	set_up();
	assert_true(describe(HOTSPOT_INTERPRETED, "com/example/Spin", "outer", &code));
	assert_string_equal(code.name.text, "com.example.Spin.outer");
	assert_string_equal(code.file.text, "com/example/Spin.java");
	assert_string_equal(code.tier, "Interpreter");
	assert_int_equal(code.first_line, 10);
	assert_int_equal(code.lines.count, 2);
	assert_int_equal(code.lines.items[1].unit, 3);
	assert_int_equal(code.lines.items[1].line, 12);
	managed_code_release(&code);
}

static void assert_lines(const struct managed_code *code, const struct managed_line *lines,
			 size_t count)
{
	for (size_t i = 0; i < code->lines.count && i < count; i++) {
		assert_int_equal(code->lines.items[i].unit, lines[i].unit);
		assert_int_equal(code->lines.items[i].line, lines[i].line);
		assert_int_equal(code->lines.items[i].function, lines[i].function);
	}
	assert_int_equal(code->lines.count, count);
}

TEST(compiled_method_has_lines_and_calls_that_it_has_taken_in)
{
	/* The inner one is uncertain but at its place, and the last line is the method itself. */
	static const struct managed_line lines[] = {{0, 12, 0},	 {20, 12, 0},  {20, 300, 1},
						    {49, 12, 0}, {49, 300, 2}, {50, 10, 0}};
	struct managed_code code;

	set_up();
	assert_true(describe(HOTSPOT_COMPILED, "com/example/Spin", "outer", &code));
	assert_string_equal(code.tier, "C2");
	assert_int_equal(code.inlined.count, 2);
	assert_string_equal(code.inlined.items[0].name.text, "com.example.Spin.inner");
	assert_string_equal(code.inlined.items[0].tier, "Uncertain");
	assert_string_equal(code.inlined.items[1].name.text, "com.example.Spin.inner");
	assert_null(code.inlined.items[1].tier);
	assert_lines(&code, lines, sizeof(lines) / sizeof(*lines));
	managed_code_release(&code);
}

TEST(what_two_places_share_is_certain_between_them)
{
	/* The inner method at another bytecode: it runs there and between. */
	static const struct managed_line lines[] = {{0, 12, 0},	  {20, 12, 0},	{20, 300, 1},
						    {49, 12, 0},  {49, 300, 2}, {50, 12, 0},
						    {50, 301, 2}, {60, 10, 0}};
	struct managed_code code;

	set_up();
	put(INNER_CONST + 48 + CODE_SIZE, "\xff\x00\xd8\x06\x21", 6);
	put(SCOPES + 7, "\x01\x02\x05", 3);
	put_int(PLACES + 48, 60);
	put_int(PLACES + 52, 7);
	put_int(PLACES + 64, INT32_MAX);
	assert_true(describe(HOTSPOT_COMPILED, "com/example/Spin", "outer", &code));
	assert_lines(&code, lines, sizeof(lines) / sizeof(*lines));
	managed_code_release(&code);
}

/* Jumps behind the place at 20, and where the code that belongs to that place ends. */
static const struct {
	const char *code;
	uint32_t size, at, end;
} jumps[] = {
	{"\x7c\xe4", 2, 26, 26},
	{"\xeb\xf7", 2, 26, 26},
	{"\x0f\x8c\xe0\xff\xff\xff", 6, 26, 26},
	{"\xe9\xe1\xff\xff\xff", 5, 26, 26},
	/* Forward, to the place itself and before the code: no loop ends there. */
	{"\x7c\xe0", 2, 26, 20},
	{"\x7c\x10", 2, 26, 20},
	{"\x7c\xf8", 2, 26, 20},
	{"\x0f\x8c\0\0\0\x80", 6, 26, 20},
	/* Cut by the next place. */
	{"\x0f\x8c\xe0\xff\xff\xff", 6, 46, 20},
};

TEST(code_behind_the_place_of_a_loop_is_the_loops_up_to_its_jump_back)
{
	for (size_t i = 0; i < sizeof(jumps) / sizeof(*jumps); i++) {
		uint32_t end = jumps[i].end;
		const struct managed_line lines[] = {{0, 12, 0},  {end, 12, 0}, {end, 300, 1},
						     {49, 12, 0}, {49, 300, 2}, {50, 10, 0}};
		struct managed_code code;

		set_up();
		memcpy(machine_code + jumps[i].at, jumps[i].code, jumps[i].size);
		assert_true(describe(HOTSPOT_COMPILED, "com/example/Spin", "outer", &code));
		assert_lines(&code, lines, sizeof(lines) / sizeof(*lines));
		managed_code_release(&code);
	}
}

TEST(file_of_a_class_is_below_its_package_unless_it_is_a_path)
{
	static const struct {
		const char *holder, *source, *file;
	} rows[] = {
		{"com/example/Spin", "Spin.java", "com/example/Spin.java"},
		{"Spin", "Spin.java", "Spin.java"},
		{"srv/app/prog", "/srv/app/prog.rb", "/srv/app/prog.rb"},
		{"app/prog", "app/prog.rb", "app/prog.rb"},
		{"org/python/pycode/_pyx0", "prog.py", "prog.py"},
		{"java/lang/invoke/LambdaForm$MH+0x0123", "LambdaForm$MH", ""},
		{"p/Outer$In", "Outer.java", "p/Outer.java"},
		{"p/$In", "Outer$In", "p/Outer$In"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct managed_code code;

		set_up();
		put_symbol(3, rows[i].source);
		put_word(KLASS + 24, put_symbol(4, rows[i].holder));
		assert_true(describe(HOTSPOT_INTERPRETED, rows[i].holder, "outer", &code));
		assert_string_equal(strbuf_text(&code.file), rows[i].file);
		managed_code_release(&code);
	}
}

TEST(names_have_types_of_parameters_if_wanted)
{
	static const struct {
		const char *types, *name;
	} rows[] = {
		{"()V", "com.example.Spin.outer()"},
		{"(IJZ)V", "com.example.Spin.outer(int, long, boolean)"},
		{"([[BLjava/util/Map$Entry;[LSpin;)I",
		 "com.example.Spin.outer(byte[][], Map$Entry, Spin[])"},
		/* Texts that are no types. */
		{"(L", "com.example.Spin.outer()"},
		{"([", "com.example.Spin.outer([])"},
		{"(Ljava/lang/Str", "com.example.Spin.outer(Str)"},
		{"(?\xffI)", "com.example.Spin.outer(, , int)"},
		{"I", "com.example.Spin.outer"},
	};
	struct managed_code code;

	wants_types = true;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		set_up();
		put_symbol(5, rows[i].types);
		put_short(CONST_METHOD + 36, 5);
		assert_true(describe(HOTSPOT_INTERPRETED, "com/example/Spin", "outer", &code));
		assert_string_equal(code.name.text, rows[i].name);
		managed_code_release(&code);
	}
	set_up();
	put_symbol(5, "(I)V");
	put_short(INNER_CONST + 36, 5);
	assert_true(describe(HOTSPOT_COMPILED, "com/example/Spin", "outer", &code));
	assert_string_equal(code.inlined.items[0].name.text, "com.example.Spin.inner(int)");
	managed_code_release(&code);
	wants_types = false;
}

/* Puts a row of the list of stubs. */
static void put_stub(uint64_t at, uint64_t next, uint64_t name, uint64_t begin, uint64_t end)
{
	const uint64_t words[] = {next, 0, name, begin, end};

	put(at, words, sizeof(words));
}

TEST(stubs_of_a_blob_have_their_names)
{
	static const struct managed_line lines[] = {{0, 0, 0},	{9, 0, 0},  {9, 0, 1},
						    {19, 0, 0}, {19, 0, 2}, {49, 0, 0}};
	struct managed_code code;

	set_up();
	stubs = 0x800;
	put_word(0x800, 0x900);
	/* The last one is of another blob, and one lies in another. */
	put_stub(0x900, 0x940, 0xb00, 0x7014, 0x7032);
	put_stub(0x940, 0x980, 0xb10, 0x700a, 0x7014);
	put_stub(0x980, 0x9c0, 0xb10, 0x7020, 0x7030);
	put_stub(0x9c0, 0x900, 0xb10, 0x6000, 0x6010);
	put(0xb00, "copy", 5);
	put(0xb10, "call", 5);
	assert_true(describe(HOTSPOT_STUB, "", "StubRoutines (1)", &code));
	assert_string_equal(code.name.text, "StubRoutines (1)");
	assert_int_equal(code.inlined.count, 2);
	assert_string_equal(code.inlined.items[0].name.text, "call");
	assert_string_equal(code.inlined.items[1].name.text, "copy");
	assert_int_equal(code.lines.count, sizeof(lines) / sizeof(*lines));
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		assert_int_equal(code.lines.items[i].unit, lines[i].unit);
		assert_int_equal(code.lines.items[i].function, lines[i].function);
	}
	managed_code_release(&code);
	put_word(0x800, 0);
	assert_false(describe(HOTSPOT_STUB, "", "StubRoutines (1)", &code));
	assert_int_equal(code.lines.count, 0);
	managed_code_release(&code);
	stubs = 0;
}

static void assert_lineless(const struct managed_code *code)
{
	assert_int_equal(code->lines.count, 1);
	assert_int_equal(code->lines.items[0].unit, 0);
	assert_int_equal(code->lines.items[0].line, 0);
}

TEST(code_that_was_replaced_is_not_read)
{
	struct managed_code code;

	set_up();
	put_int(BLOB + 304, 78);
	assert_true(describe(HOTSPOT_COMPILED, "com/example/Spin", "outer", &code));
	assert_lineless(&code);
	managed_code_release(&code);
	assert_false(describe(HOTSPOT_COMPILED, "com/example/Spin", "other", &code));
	assert_string_equal(code.name.text, "com.example.Spin.other");
	managed_code_release(&code);
	put_word(METHOD + 8, INNER_CONST);
	assert_false(describe(HOTSPOT_INTERPRETED, "com/example/Spin", "outer", &code));
	managed_code_release(&code);
}

TEST(records_of_other_code_are_not_taken)
{
	struct managed_code code;

	set_up();
	/* Its memory was freed, and has another method's now. */
	put_word(METADATA, INNER_METHOD);
	assert_true(describe(HOTSPOT_COMPILED, "com/example/Spin", "outer", &code));
	assert_lineless(&code);
	assert_int_equal(code.inlined.count, 0);
	managed_code_release(&code);
	set_up();
	put_word(METADATA + 8, SIZE);
	assert_true(describe(HOTSPOT_COMPILED, "com/example/Spin", "outer", &code));
	assert_lineless(&code);
	managed_code_release(&code);
}

TEST(scopes_that_lead_in_a_circle_end)
{
	struct managed_code code;

	set_up();
	put(SCOPES + 4, "\x04", 1);
	assert_true(describe(HOTSPOT_COMPILED, "com/example/Spin", "outer", &code));
	assert_int_equal(code.inlined.count, 0);
	managed_code_release(&code);
}

/* Two threads, with the offsets that the objects of one release have. */

struct object_form {
	uint8_t name, value, length, text, width;
};

static void put_reference(uint64_t at, uint64_t to, const struct object_form *form)
{
	/* Narrow ones count words of 8 bytes from 0x40 on. */
	const uint64_t value = form->width == 4 ? (to - 0x40) / 8 : to;

	put(at, &value, form->width);
}

static void put_thread(uint32_t number, const char *name, const struct object_form *form)
{
	const uint64_t at = 0x200 + number * 0x400;
	const uint32_t tid = 70 + number, size = (uint32_t)strlen(name);

	put_word(0x140 + 8ull * number, at); /* the list's row */
	put_word(at + 8, at + 0x20);
	put_word(at + 16, at + 0x30);
	put_word(at + 0x20, at + 0x100); /* a handle */
	put_int(at + 0x34, tid);
	put_reference(at + 0x100 + form->name, at + 0x200, form);
	put_reference(at + 0x200 + form->value, at + 0x240, form);
	put_int(at + 0x240 + form->length, size);
	put(at + 0x240 + form->text, name, size);
}

static void note_thread(void *ctx, uint32_t tid, const struct strbuf *name)
{
	strbuf_addf(ctx, "%" PRIu32 " %.*s\n", tid, (int)name->size, name->text);
}

/* Returns the names that are found, which the caller releases. */
static struct strbuf names_found(const struct object_form *form, const char *first,
				 const char *second)
{
	static const struct runtime_layout threads = {
		.kind = RUNTIME_HOTSPOT,
		.hotspot =
			{
				.threads = 0x10,
				.narrow_base = 0x18,
				.narrow_shift = 0x20,
				.version = 17,
				.flags = HOTSPOT_IS_COMPLETE | HOTSPOT_THREAD_LIST,
				.list_length = 4,
				.list_rows = 16,
				.thread_object = 8,
				.os_thread = 16,
				.thread_id = 4,
			},
	};
	struct strbuf found = {0};
	uint64_t kept = 0;

	memset(memory, 0, sizeof(memory));
	put_word(0x10, 0x100);
	put_word(0x18, 0x40);
	put_int(0x20, 3);
	put_int(0x104, 2);
	put_word(0x110, 0x140);
	put_thread(0, first, form);
	put_thread(1, second, form);
	hotspot_threads(&threads, 0, &kept, read_memory, NULL, note_thread, &found);
	/* Once learned, the offsets are kept. */
	assert_int_equal(kept != 0, found.size != 0);
	strbuf_reset(&found);
	hotspot_threads(&threads, 0, &kept, read_memory, NULL, note_thread, &found);
	return found;
}

TEST(threads_have_the_names_that_are_longer_than_the_kernels)
{
	static const struct object_form forms[] = {
		{40, 20, 12, 16, 4}, {36, 16, 8, 12, 4}, {56, 24, 16, 24, 8}, {64, 16, 16, 20, 8}};

	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		struct strbuf found = names_found(&forms[i], "Reference Handler",
						  "gr\xf6\xdf"
						  "er-than-15-bytes");

		assert_string_equal(strbuf_text(&found), "70 Reference Handler\n"
							 "71 größer-than-15-bytes\n");
		strbuf_release(&found);
		found = names_found(&forms[i], "a-name-of-15-by", "Reference Handler");
		assert_string_equal(strbuf_text(&found), "71 Reference Handler\n");
		strbuf_release(&found);
	}
}

TEST(threads_of_objects_of_another_form_have_no_names)
{
	static const struct object_form form = {40, 20, 12, 16, 4};
	struct strbuf found = names_found(&form, "Reference Keeper!", "pool-1-thread-123456");

	assert_int_equal(found.size, 0);
	strbuf_release(&found);
}
