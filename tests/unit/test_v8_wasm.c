/* SPDX-License-Identifier: MIT */
/* V8: code of WebAssembly, as its tables lie in memory. */

#include <string.h>

#include "lib/code/runtimes/v8_wasm.h"
#include "tests/unit/test.h"

/* The memory of a process: V8's objects, the nodes of its maps, the module's file. */
enum {
	ENGINE = 0x100,
	SPACES = ENGINE + 72,
	WRAPPERS = SPACES + 128,
	SPACE_NODE = 0x300,
	WRAPPER_NODE = 0x340,
	MODULE = 0x400,
	CODES = MODULE + 240,
	FILE_WORD = MODULE + 200,
	FILE_OBJECT = 0x800,
	CODE_NODES = 0x900,
	VECTOR = 0xb00,
	PIECES = 0xc00,
	PIECE_SIZE = 128,
	BYTES = 0x2000,
	MEMORY_SIZE = 0x4000,
	SPACE = 0x100000, /* of code, which is never read */
};

/* Numbers of pieces. */
enum {
	JUMPS,
	IMPORT,
	OLD, /* the first compiler's code of function 1 */
	OTHER, /* function 2 */
	NEW, /* the second compiler's code of function 1 */
	WRAPPER,
	PIECE_COUNT,
};

#define CODE(number) (SPACE + 0x400u * (number))

static uint8_t memory[MEMORY_SIZE];
static bool is_llvm;

static bool memory_read(void *ctx, uint64_t addr, void *to, size_t size)
{
	if (addr > MEMORY_SIZE || size > MEMORY_SIZE - addr)
		return false;
	memcpy(to, memory + addr, size);
	return true;
}

static void put(uint64_t at, uint64_t value)
{
	memcpy(memory + at, &value, sizeof(value));
}

static void put_number(uint64_t at, uint32_t value)
{
	memcpy(memory + at, &value, sizeof(value));
}

/* Makes a map of these nodes, the middle one as root. Returns the address after it. */
static uint64_t put_map(uint64_t at, const uint64_t *nodes, size_t count)
{
	uint64_t root = nodes[count / 2], parent = is_llvm ? at + 8 : at;

	for (size_t i = 0; i < count; i++) {
		uint64_t own_parent = i == count / 2 ? parent : root;

		put(nodes[i] + (is_llvm ? 16 : 8), own_parent);
	}
	for (size_t i = 0; i < count / 2; i++) {
		uint64_t from = i + 1 < count / 2 ? nodes[i + 1] : root;

		put(from + (is_llvm ? 0 : 16), nodes[i]);
	}
	for (size_t i = count / 2 + 1; i < count; i++)
		put(nodes[i - 1] + (is_llvm ? 8 : 24), nodes[i]);
	put(at + 8, root);
	put(at + (is_llvm ? 0 : 16), nodes[0]);
	put(at + (is_llvm ? 16 : 32), count);
	if (!is_llvm)
		put(at + 24, nodes[count - 1]);
	return at + (is_llvm ? 24 : 40);
}

static uint64_t piece(size_t number)
{
	return PIECES + number * PIECE_SIZE;
}

static void put_piece(size_t number, uint64_t module, uint32_t function, bool is_code)
{
	uint64_t at = piece(number);

	put(at, module);
	put(at + 8, CODE(number));
	put(at + 16, FILE_OBJECT);
	put_number(at + 24, 0x100);
	put_number(at + 28, is_code ? 7 : 0);
	put_number(at + 44, function);
}

/* One imported function; a name for that and for function 1; none for 2. */
static const char file[] = "\0asm\1\0\0\0"
			   "\2\x15\3"
			   "\1e\1m\2\0\1"
			   "\1e\1f\0\0"
			   "\1e\1g\3\x7f\0"
			   "\0\x1d\4name"
			   "\0\5\4work"
			   "\1\xc\2"
			   "\0\4back"
			   "\1\3hot"
			   "\2\1\0";

static void put_file(const char *bytes, size_t size)
{
	memcpy(memory + BYTES, bytes, size);
	put(FILE_WORD, FILE_OBJECT);
	put(FILE_OBJECT, BYTES);
	put(FILE_OBJECT + 8, size);
}

/* The newest code is in the vector only. */
static void make(bool with_llvm)
{
	uint64_t nodes[NEW], vector;

	memset(memory, 0, sizeof(memory));
	is_llvm = with_llvm;
	put_piece(JUMPS, MODULE, UINT32_MAX, false);
	put_piece(IMPORT, MODULE, 0, true);
	put_piece(OLD, MODULE, 1, true);
	put_piece(OTHER, MODULE, 2, true);
	put_piece(NEW, MODULE, 1, true);
	put_piece(WRAPPER, 0, UINT32_MAX, false);
	for (size_t i = 0; i < NEW; i++) {
		nodes[i] = CODE_NODES + i * 48;
		put(nodes[i] + 32, CODE(i));
		put(nodes[i] + 40, piece(i));
	}
	vector = put_map(CODES, nodes, NEW);
	put(vector, VECTOR);
	put(vector + 8, VECTOR + 8);
	put(vector + 16, VECTOR + 64);
	put(VECTOR, piece(NEW));
	put(SPACE_NODE + 32, SPACE);
	put(SPACE_NODE + 40, SPACE + 0x2000);
	put(SPACE_NODE + 48, MODULE);
	put_map(SPACES, (const uint64_t[]){SPACE_NODE}, 1);
	put(WRAPPER_NODE + 32, SPACE + 0x2000);
	put(WRAPPER_NODE + 40, piece(WRAPPER));
	put(piece(WRAPPER) + 8, SPACE + 0x2000);
	put_map(WRAPPERS, (const uint64_t[]){WRAPPER_NODE}, 1);
	put_file(file, sizeof(file) - 1);
}

static struct wasm_modules modules;

static bool find(uint64_t addr, struct sampled_code *code)
{
	*code = (struct sampled_code){0};
	return v8_wasm_engine.find_code(&modules, addr, memory_read, NULL, code);
}

static void expect_code(uint64_t addr, const char *name)
{
	struct sampled_code code;
	bool is_found = find(addr, &code);

	assert_string_equal(strbuf_text(&code.name), name ? name : "");
	assert_int_equal(is_found, name != NULL);
	if (name) {
		assert_true(code.is_named);
		assert_int_equal(code.size, 0x100);
		assert_true(addr - code.start < code.size);
	}
	strbuf_release(&code.name);
}

static bool find_spaces(uint64_t addr)
{
	wasm_modules_release(&modules);
	modules = (struct wasm_modules){0};
	return v8_wasm_engine.find_spaces(&modules, ENGINE, addr, memory_read, NULL);
}

static void expect_all(void)
{
	assert_true(find_spaces(CODE(OLD)));
	expect_code(CODE(OLD), "Wasm:hot wasm://wasm/work");
	expect_code(CODE(OTHER) + 0xff, "Wasm:wasm-function[2] wasm://wasm/work");
	/* Between pieces */
	expect_code(CODE(OTHER) + 0x100, NULL);
	expect_code(CODE(NEW), "Wasm:hot wasm://wasm/work");
	expect_code(CODE(IMPORT), "Wasm:wasm-to-js");
	expect_code(CODE(JUMPS), "Wasm:jump table");
	expect_code(SPACE + 0x2010, "Wasm:wasm-to-js");
	expect_code(SPACE - 1, NULL);
	expect_code(SPACE + 0x3000, NULL);
}

TEST(code_has_its_functions_name)
{
	make(false);
	expect_all();
	make(true);
	expect_all();
	assert_false(find_spaces(SPACE + 0x4000));
	assert_false(v8_wasm_engine.find_spaces(&modules, MODULE, CODE(OLD), memory_read, NULL));
}

TEST(new_code_is_found)
{
	uint64_t vector = CODES + 40;

	make(false);
	assert_true(find_spaces(CODE(OLD)));
	expect_code(CODE(NEW), "Wasm:hot wasm://wasm/work");
	/* It replaces other code. */
	put_number(piece(NEW) + 44, 2);
	expect_code(CODE(NEW), "Wasm:wasm-function[2] wasm://wasm/work");
	/* V8 empties the vector, and adds other code. */
	put(VECTOR, piece(OTHER));
	put(piece(OTHER) + 8, CODE(WRAPPER));
	expect_code(CODE(WRAPPER), "Wasm:wasm-function[2] wasm://wasm/work");
	/* Code that is gone is not found. */
	put(vector + 8, VECTOR);
	put(piece(NEW), 0);
	expect_code(CODE(NEW), NULL);
}

TEST(a_module_that_uses_memory_anew_is_another_generation)
{
	uint64_t first;

	make(false);
	assert_true(find_spaces(CODE(OLD)));
	expect_code(CODE(OLD), "Wasm:hot wasm://wasm/work");
	first = v8_wasm_engine.generation(&modules, memory_read, NULL);
	assert_int_equal(v8_wasm_engine.generation(&modules, memory_read, NULL), first);
	put(MODULE + 8 * 19, 0x100);
	assert_int_not_equal(v8_wasm_engine.generation(&modules, memory_read, NULL), first);
}

TEST(a_module_without_names_is_called_by_its_size)
{
	make(false);
	put(FILE_OBJECT + 8, 31);
	assert_true(find_spaces(CODE(OLD)));
	expect_code(CODE(OLD), "Wasm:wasm-function[1] wasm://wasm/31-bytes");
	/* Another module takes its place. */
	put(FILE_OBJECT + 8, sizeof(file) - 1);
	expect_code(CODE(NEW), "Wasm:hot wasm://wasm/work");
	expect_code(CODE(OLD), "Wasm:hot wasm://wasm/work");
}

/* A memory, and functions 2 and 1. */
static const char nameless[] = "\0asm\1\0\0\0"
			       "\2\x7\1"
			       "\1e\1f\0\0"
			       "\7\x14\3"
			       "\3mem\2\0"
			       "\4cold\0\2"
			       "\3hot\0\1";

TEST(functions_without_names_are_called_by_their_exports)
{
	make(false);
	put_file(nameless, sizeof(nameless) - 1);
	assert_true(find_spaces(CODE(OLD)));
	expect_code(CODE(OLD), "Wasm:hot wasm://wasm/39-bytes");
	expect_code(CODE(OTHER), "Wasm:cold wasm://wasm/39-bytes");
	/* The last one is cut. */
	make(false);
	put_file(nameless, sizeof(nameless) - 1);
	memory[BYTES + sizeof(nameless) - 7] = 0x7f;
	wasm_modules_release(&modules);
	assert_true(find_spaces(CODE(OLD)));
	expect_code(CODE(OLD), "Wasm:wasm-function[1] wasm://wasm/39-bytes");
	expect_code(CODE(OTHER), "Wasm:cold wasm://wasm/39-bytes");
}

TEST(damaged_files_have_no_names)
{
	/* By places in the file: a size that is too large, then a number. */
	static const size_t places[] = {9, 11, 28, 34, 42, 43, 45};

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		struct sampled_code code;

		make(false);
		memory[BYTES + places[i]] = 0x7f;
		assert_true(find_spaces(CODE(OLD)));
		assert_true(find(CODE(OLD), &code));
		strbuf_release(&code.name);
	}
	make(false);
	put(FILE_OBJECT + 8, UINT64_MAX);
	assert_false(find_spaces(CODE(OLD)));
}

TEST(maps_that_loop_end)
{
	make(false);
	assert_true(find_spaces(CODE(OLD)));
	for (size_t i = 0; i < NEW; i++) {
		put(CODE_NODES + i * 48 + 16, CODE_NODES + i * 48);
		put(CODE_NODES + i * 48 + 24, CODE_NODES + i * 48);
	}
	expect_code(CODE(OLD), NULL);
	assert_false(find_spaces(CODE(OLD)));
	put(SPACE_NODE + 16, SPACE_NODE);
	put(SPACE_NODE + 24, SPACE_NODE);
	assert_false(find_spaces(CODE(OLD)));
	wasm_modules_release(&modules);
}
