/* SPDX-License-Identifier: MIT */
/* Lua: files that contain its interpreter, and functions as the kernel saw them. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bpf/runtime_identity.h"
#include "lib/code/runtimes/runtime.h"
#include "tests/unit/lua_function.h"
#include "tests/unit/runtime_file.h"
#include "tests/unit/test.h"

TEST(files_tell_their_version_and_places)
{
	static const struct {
		const char *file, *version;
		uint8_t status, jump;
	} rows[] = {
		{"lua-5.1", "5.1", 10, 168},  {"lua-5.2", "5.2", 10, 112},
		{"lua-5.3.6", "5.3", 12, 88}, {"lua-5.4.2", "5.4", 10, 80},
		{"lua-5.4.6", "5.4", 10, 88}, {"lua-5.5", "5.5", 11, 88},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct runtime_layout layout;
		const struct lua_layout *l = &layout.lua;
		char version[8];

		assert_int_equal(runtime_probed(rows[i].file, &layout, NULL), 0);
		assert_int_equal(layout.kind, RUNTIME_LUA);
		runtime_write_version(&layout, version, sizeof(version));
		assert_string_equal(version, rows[i].version);
		assert_int_equal(l->status, rows[i].status);
		assert_int_equal(l->jump, rows[i].jump);
		/* Padding between functions is counted. */
		assert_in_range(l->exec_end - l->exec_start, 3000, 3032);
		assert_in_range(l->resume_end - l->resume_start, 1, 32);
		/* The kernel's program must stay within what it reads. */
		assert_in_range(l->jump, 8, (LUA_STATE_WORDS - 1) * 8);
		assert_in_range(l->flags, 8, LUA_CALL_WORDS * 8 - 1);
		assert_in_range(l->source, 8, (LUA_PROTO_WORDS - 1) * 8);
	}
}

TEST(what_cannot_be_followed_is_refused)
{
	runtime_refused("lua-5.3.1", -ENOTSUP, "Lua 5.3.1 is not supported");
	runtime_refused("lua-5.6", -ENOTSUP, "Lua 5.6.0 is not supported");
	runtime_refused("lua-small", -ENOTSUP, "cannot find the interpreter of Lua 5.4");
}

/* Lines of units, "11@0 13@2". */
static void check_lines(const struct managed_code *code, const char *lines)
{
	char text[128] = "";
	size_t size = 0;

	vec_for_each(&code->lines, const struct managed_line *, it)
		size += (size_t)snprintf(text + size, sizeof(text) - size, "%s%u@%u",
					 size ? " " : "", it->line, it->unit);
	assert_string_equal(text, lines);
}

static void check_code(const char *name, const char *function, const char *file,
		       uint32_t first_line, const char *lines)
{
	struct runtime_layout layout;
	struct managed_code code = {0};
	struct rec_function *record;
	uint8_t bytes[256];
	char path[64];
	ssize_t size;
	int fd;

	snprintf(path, sizeof(path), "tests/fuzz/corpus/lua/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	size = read(fd, bytes, sizeof(bytes));
	close(fd);
	record = size > 0 ? lua_function_of(bytes, (size_t)size, &layout) : NULL;
	assert_non_null(record);
	runtime_lua.decode(&layout, record, &code);
	assert_string_equal(strbuf_text(&code.name), function);
	assert_string_equal(strbuf_text(&code.file), file);
	assert_int_equal(code.first_line, first_line);
	check_lines(&code, lines);
	managed_code_release(&code);
	free(record);
}

TEST(functions_have_names_and_lines)
{
	check_code("marked", "spin", "/a.lua", 10, "11@0 13@2 400@3 399@4");
	check_code("numbers", "spin", "/a.lua", 10, "11@0 13@2 400@3 399@4");
	check_code("main", "main chunk", "a.lua", 0, "1@0 2@1");
	check_code("text", "main chunk", "[string]", 0, "1@0");
	check_code("nameless", "function <stdin:7>", "stdin", 7, "7@0");
	/* Texts that are no UTF-8, lines that no file has, tables that are larger than the record.
	 */
	check_code("latin", "main chunk", "/\xef\xbf\xbd", 0, "0@0 1073741824@1");
	check_code("short", "f", "f.lua", 5, "");
}

/* Memory of a process. */
static struct {
	uint64_t proto[LUA_PROTO_WORDS];
	int8_t lines[4000];
	int32_t marks[2];
} memory;

static bool read_memory(void *ctx, uint64_t addr, void *to, size_t size)
{
	uint64_t at = addr - (uint64_t)(uintptr_t)&memory;

	if (at > sizeof(memory) || size > sizeof(memory) - at)
		return false;
	memcpy(to, (const uint8_t *)&memory + at, size);
	return true;
}

TEST(long_tables_of_lines_are_read_from_the_process)
{
	struct rec_function function = {.code = (uint64_t)(uintptr_t)&memory, .first_line = 10};
	struct managed_code code = {.first_line = 10};
	struct runtime_layout layout;
	uint64_t sum = RUNTIME_IDENTITY_SEED;

	assert_int_equal(runtime_probed("lua-5.4.6", &layout, NULL), 0);
	memory.lines[3998] = 1;
	memory.lines[3999] = -128;
	memory.marks[0] = 3999;
	memory.marks[1] = 5000;
	memory.proto[layout.lua.code / 8] = 1;
	memory.proto[3] = 4000 | 4000ull << 32;
	memory.proto[5] = 1;
	memory.proto[layout.lua.lines / 8] = (uint64_t)(uintptr_t)memory.lines;
	memory.proto[layout.lua.marks / 8] = (uint64_t)(uintptr_t)memory.marks;
	sum = runtime_identity_add(sum, 1);
	sum = runtime_identity_add(sum, memory.proto[3]);
	sum = runtime_identity_add(sum, 0);
	function.identity = runtime_identity_add(sum, 1);
	/* Only what was cut is read again. */
	assert_false(runtime_lua.late(&layout, &function, read_memory, NULL, &code));
	function.lines.flags = FUNCTION_CUT;
	assert_true(runtime_lua.late(&layout, &function, read_memory, NULL, &code));
	check_lines(&code, "10@0 11@3998 5000@3999");
	/* Another function is there now, or its tables are gone. */
	memory.proto[layout.lua.lines / 8] = 1;
	assert_false(runtime_lua.late(&layout, &function, read_memory, NULL, &code));
	memory.proto[layout.lua.code / 8] = 2;
	assert_false(runtime_lua.late(&layout, &function, read_memory, NULL, &code));
	check_lines(&code, "10@0 11@3998 5000@3999");
	managed_code_release(&code);
}
