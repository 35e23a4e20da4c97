/* SPDX-License-Identifier: MIT */
/*
 * Lua 5.1 to 5.5. Its interpreter does not describe its structures: offsets come from a table by
 * version. Programs contain the interpreter or load it from a library, and export its interface.
 */
#include "bpf/runtime_identity.h"
#include "lib/base/bytes.h"
#include "lib/code/binary/objects.h"
#include "lib/code/runtimes/file_functions.h"
#include "lib/code/runtimes/runtime.h"

/*
 * By lobject.h, lstate.h and lopcodes.h of each version, from that release on, on 64-bit machines.
 */

/* clang-format off */
static const struct lua_layout layouts[] = {
	{
		.version = RUNTIME_VERSION(5, 1),
		.status = 10, .call = 40, .stack = 64, .stack_end = 56, .jump = 168,
		.outermost = 80, .running = 48,
		.function = 8, .instruction = 24, .flags = 36, .tail_mask = 0xff,
		.closure_proto = 32,
		.constants = 16, .code = 24, .code_count = 80, .lines = 40, .line_count = 84,
		.first_line = 96, .source = 64, .upvalues = 56, .upvalue_size = 8, .locals = 48,
		.local_count = 92,
		.op_bits = 6, .op_call = 28, .op_closure = 36, .op_upvalue = 4, .op_global = 5,
		.op_field = 6, .op_self = 11,
	},
	{
		.version = RUNTIME_VERSION(5, 2), .release = 1,
		.status = 10, .call = 32, .stack = 56, .stack_end = 48, .jump = 112,
		.instruction = 56, .flags = 34, .fresh_mask = 4, .tail_mask = 64,
		.closure_proto = 24,
		.constants = 16, .code = 24, .code_count = 88, .lines = 40, .line_count = 92,
		.first_line = 104, .source = 72, .upvalues = 56, .upvalue_size = 16, .locals = 48,
		.local_count = 100,
		.op_bits = 6, .op_call = 29, .op_closure = 37, .op_upvalue = 5, .op_global = 6,
		.op_field = 7, .op_self = 12,
	},
	{
		.version = RUNTIME_VERSION(5, 3), .release = 2,
		.status = 12, .call = 32, .stack = 56, .stack_end = 48, .jump = 88,
		.instruction = 40, .flags = 66, .fresh_mask = 8, .fresh = 8, .tail_mask = 32,
		.closure_proto = 24,
		.constants = 48, .code = 56, .code_count = 24, .lines = 72, .line_count = 28,
		.first_line = 40, .source = 104, .upvalues = 88, .upvalue_size = 16, .locals = 80,
		.local_count = 36,
		.op_bits = 6, .op_call = 36, .op_closure = 44, .op_upvalue = 5, .op_global = 6,
		.op_field = 7, .op_self = 12,
	},
	{
		.version = RUNTIME_VERSION(5, 4), .release = 2,
		.status = 10, .call = 32, .stack = 48, .stack_end = 40, .jump = 88,
		.instruction = 32, .flags = 62, .fresh_mask = 4, .fresh = 4, .tail_mask = 32,
		.closure_proto = 24,
		.constants = 56, .code = 64, .code_count = 24, .lines = 88, .line_count = 28,
		.marks = 96, .mark_count = 40,
		.first_line = 44, .source = 112, .upvalues = 80, .upvalue_size = 16,
		.locals = 104, .local_count = 36,
		.op_bits = 7, .op_call = 68, .op_closure = 79, .op_upvalue = 9, .op_global = 11,
		.op_field = 14, .op_self = 20, .self_constant = 1 << 15,
	},
	{
		.version = RUNTIME_VERSION(5, 5),
		.status = 11, .call = 32, .stack = 48, .stack_end = 40, .jump = 88,
		.instruction = 32, .flags = 62, .fresh_mask = 1, .fresh = 1, .tail_mask = 64,
		.closure_proto = 24,
		.constants = 56, .code = 64, .code_count = 24, .lines = 88, .line_count = 28,
		.marks = 96, .mark_count = 40,
		.first_line = 44, .source = 112, .upvalues = 80, .upvalue_size = 16,
		.locals = 104, .local_count = 36,
		.op_bits = 7, .op_call = 68, .op_closure = 79, .op_upvalue = 9, .op_global = 11,
		.op_field = 14, .op_self = 20, .text_apart = 1,
	},
};
/* clang-format on */

LAYOUT_OF_VERSION(static bool layout_of_version, lua_layout)

enum {
	IDENT, /* "$LuaVersion: Lua 5.4.4  Copyright …": not in LuaJIT */
	RESUME,
	CALL,
	CALL_5_1,
	OBJECT_COUNT,
};

static const struct binary_object wanted[OBJECT_COUNT] = {
	[IDENT] = {.name = "lua_ident"},
	[RESUME] = {.name = "lua_resume"},
	[CALL] = {.name = "lua_callk"},
	[CALL_5_1] = {.name = "lua_call"},
};

#define JUMP_5_4_2 80

/* Returns the version, with the release in the lowest byte: 0x050404; 0: unknown. */
static uint32_t find_version(const struct binary *b, uint64_t ident)
{
	static const char before[] = ": Lua ";
	char text[40] = "", *at;
	unsigned int major, minor, release;

	if (!binary_read_text(b, ident, text, sizeof(text) - 1))
		return 0;
	at = strstr(text, before);
	if (!at || sscanf(at + sizeof(before) - 1, "%1u.%2u.%2u", &major, &minor, &release) != 3)
		return 0;
	return major << 16 | minor << 8 | release;
}

/* A search for the interpreter among the functions that a function calls. */
struct search {
	const struct binary *binary;
	struct file_functions functions;
	uint64_t start, end; /* the largest function so far */
	uint32_t left; /* functions that may still be read */
};

#define SEARCH_DEPTH 3
#define SEARCH_MAX 256
#define CODE_MAX ((size_t)1 << 17)
#define INTERPRETER_MIN 3000 /* bytes */

/* Follows direct calls and jumps from the function at `start`. */
static void search_calls(struct search *s, uint64_t start, unsigned int depth)
{
	uint64_t end = file_functions_end(&s->functions, start);
	_cleanup_free_ uint8_t *code = NULL;
	size_t size = end - start;

	if (!end || size > CODE_MAX || !s->left)
		return;
	s->left--;
	if (size > s->end - s->start) {
		s->start = start;
		s->end = end;
	}
	if (depth == SEARCH_DEPTH)
		return;
	code = xmalloc(size);
	if (!binary_read_text(s->binary, start, code, size))
		return;
	for (size_t at = 0; at + 5 <= size; at++) {
		if ((code[at] & 0xfe) == 0xe8)
			search_calls(s, code_target(code + at + 1, start + at + 1), depth + 1);
	}
}

/*
 * Finds luaV_execute, which no file exports: it is by far the largest function near lua_call, which
 * runs code through few others.
 */
static bool find_interpreter(const struct binary *b, uint64_t call, struct lua_layout *l)
{
	struct search s = {.binary = b, .left = SEARCH_MAX};

	if (file_functions_read(b, &s.functions))
		search_calls(&s, call, 0);
	file_functions_release(&s.functions);
	l->exec_start = s.start;
	l->exec_end = s.end;
	return s.end - s.start >= INTERPRETER_MIN;
}

static int probe(const struct binary *b, struct runtime_layout *layout, struct error *err)
{
	struct binary_object objects[OBJECT_COUNT];
	struct lua_layout *l = &layout->lua;
	uint32_t version;
	int call;

	memcpy(objects, wanted, sizeof(wanted));
	/* Look up only this one at first: most files lack it. */
	binary_find_mark(b, objects);
	if (!objects[IDENT].is_there)
		return 0;
	binary_find_objects(b, objects, OBJECT_COUNT);
	version = find_version(b, objects[IDENT].vaddr);
	if (!version)
		return 0;
	if (!layout_of_version(version >> 8, l) || (version & 255) < l->release)
		return error_text(err, -ENOTSUP, "Lua %u.%u.%u is not supported", version >> 16,
				  version >> 8 & 255, version & 255);
	/* The list of variables to be closed came with 5.4.3. */
	if (version == 0x050402)
		l->jump = JUMP_5_4_2;
	call = objects[CALL].is_there ? CALL : CALL_5_1;
	if (!objects[call].is_there || !objects[RESUME].is_there ||
	    !find_interpreter(b, objects[call].vaddr, l))
		return error_text(err, -ENOTSUP, "cannot find the interpreter of Lua %u.%u",
				  version >> 16, version >> 8 & 255);
	l->resume_start = objects[RESUME].vaddr;
	l->resume_end = objects[RESUME].vaddr + objects[RESUME].size;
	layout->kind = RUNTIME_LUA;
	return 0;
}

static bool is_sane(const struct runtime_layout *layout)
{
	struct lua_layout known;

	if (!layout_of_version(layout->lua.version, &known))
		return false;
	if (layout->lua.jump == JUMP_5_4_2)
		known.jump = JUMP_5_4_2;
	known.exec_start = layout->lua.exec_start;
	known.exec_end = layout->lua.exec_end;
	known.resume_start = layout->lua.resume_start;
	known.resume_end = layout->lua.resume_end;
	return memcmp(&known, &layout->lua, sizeof(known)) == 0;
}

/* Since 5.4, lines are differences from the previous instruction's; this one refers to a mark. */
#define LINE_IN_MARK (-128)

static void read_marked_lines(struct managed_code *code, struct bytes *lines, struct bytes *marks)
{
	int64_t line = code->first_line;

	for (uint32_t unit = 0; bytes_left(lines); unit++) {
		int8_t difference = (int8_t)bytes_u8(lines);

		if (difference == LINE_IN_MARK) {
			if (bytes_left(marks) < 8 || bytes_u32(marks) != unit)
				return;
			line = (int32_t)bytes_u32(marks);
		} else {
			line += difference;
		}
		runtime_add_line(code, unit, line);
	}
}

static void read_lines(const struct lua_layout *l, struct managed_code *code, struct bytes *lines,
		       struct bytes *marks)
{
	vec_clear(&code->lines);
	if (l->marks) {
		read_marked_lines(code, lines, marks);
		return;
	}
	for (uint32_t unit = 0; bytes_left(lines) >= 4; unit++)
		runtime_add_line(code, unit, (int32_t)bytes_u32(lines));
}

/* Reads lines and marks of a record. */
static void decode_lines(const struct lua_layout *l, const void *data, size_t size,
			 struct managed_code *code)
{
	struct bytes b, lines, marks;
	uint32_t line_count, mark_count;
	uint64_t line_size;

	bytes_init(&b, data, size);
	line_count = bytes_u32(&b);
	mark_count = bytes_u32(&b);
	line_size = (uint64_t)line_count * (l->marks ? 1 : 4);
	if (line_size > bytes_left(&b) || (uint64_t)mark_count * 8 > bytes_left(&b) - line_size)
		return;
	bytes_init(&lines, bytes_take(&b, line_size), line_size);
	bytes_init(&marks, bytes_take(&b, (size_t)mark_count * 8), (size_t)mark_count * 8);
	read_lines(l, code, &lines, &marks);
}

/*
 * Sets the file of a source: a file's name begins with @, another name with =; anything else is the
 * text itself. Its last part is used to name functions without a name.
 */
static void set_names(const char *name, size_t name_size, const char *source, size_t size,
		      struct managed_code *code)
{
	const char *end;

	if (size && (*source == '@' || *source == '='))
		managed_text_add(&code->file, source + 1, size - 1);
	else
		strbuf_adds(&code->file, "[string]");
	if (!code->first_line) {
		strbuf_adds(&code->name, "main chunk");
		return;
	}
	managed_text_add(&code->name, name, name_size);
	if (code->name.size)
		return;
	end = strrchr(strbuf_text(&code->file), '/');
	strbuf_addf(&code->name, "function <%s:%u>", end ? end + 1 : strbuf_text(&code->file),
		    code->first_line);
}

static void decode(const struct runtime_layout *layout, const struct rec_function *function,
		   struct managed_code *code)
{
	const char *name = function->body, *file = name + function->name.size;

	code->start = -1;
	code->first_line = function->first_line <= INT32_MAX ? function->first_line : 0;
	code->is_cut = (function->name.flags | function->file.flags) & FUNCTION_CUT;
	code->tier = NULL;
	vec_clear(&code->lines);
	strbuf_reset(&code->name);
	strbuf_reset(&code->file);
	set_names(name, function->name.size, file, function->file.size, code);
	decode_lines(&layout->lua, file + function->file.size, function->lines.size, code);
}

#define LATE_LINES_MAX (1u << 20)

/* Reads a table of lines or marks. */
static uint8_t *read_table(struct bytes *proto, uint8_t table, uint8_t count, uint32_t item_size,
			   runtime_read_fn *read, void *ctx, size_t *size)
{
	uint8_t *data;
	uint64_t addr;

	*size = 0;
	if (!table)
		return xcalloc(1, 1);
	bytes_seek(proto, table);
	addr = bytes_u64(proto);
	bytes_seek(proto, count);
	*size = (size_t)bytes_u32(proto) * item_size;
	if (*size > LATE_LINES_MAX)
		return NULL;
	data = xmalloc(*size + 1);
	if (read(ctx, addr, data, *size))
		return data;
	free(data);
	return NULL;
}

static uint64_t word_of(const uint8_t *object, uint8_t at)
{
	struct bytes b;

	bytes_init(&b, object + (at & ~7u), 8);
	return bytes_u64(&b);
}

/* Computed like lua_position() in bpf/runtimes/lua_stack.bpf.h. */
static uint64_t identity_of(const struct lua_layout *l, const uint8_t *proto)
{
	uint64_t sum = runtime_identity_add(RUNTIME_IDENTITY_SEED, word_of(proto, l->code));

	sum = runtime_identity_add(sum, word_of(proto, l->code_count));
	sum = runtime_identity_add(sum, word_of(proto, l->source));
	return runtime_identity_add(sum, word_of(proto, l->first_line));
}

/* Reads lines for which the record had no room. */
static bool late(const struct runtime_layout *layout, const struct rec_function *function,
		 runtime_read_fn *read, void *ctx, struct managed_code *code)
{
	const struct lua_layout *l = &layout->lua;
	_cleanup_free_ uint8_t *lines = NULL, *marks = NULL;
	uint8_t object[LUA_PROTO_WORDS * 8];
	struct bytes proto, line_bytes, mark_bytes;
	size_t line_size, mark_size;

	if (!(function->lines.flags & FUNCTION_CUT) ||
	    !read(ctx, function->code, object, sizeof(object)) ||
	    identity_of(l, object) != function->identity)
		return false;
	bytes_init(&proto, object, sizeof(object));
	lines = read_table(&proto, l->lines, l->line_count, l->marks ? 1 : 4, read, ctx,
			   &line_size);
	marks = read_table(&proto, l->marks, l->mark_count, 8, read, ctx, &mark_size);
	if (!lines || !marks)
		return false;
	bytes_init(&line_bytes, lines, line_size);
	bytes_init(&mark_bytes, marks, mark_size);
	read_lines(l, code, &line_bytes, &mark_bytes);
	return true;
}

const struct runtime runtime_lua = {
	.kind = RUNTIME_LUA,
	.name = "Lua",
	.probe = probe,
	.is_sane = is_sane,
	.version_at = offsetof(struct runtime_layout, lua.version),
	.decode = decode,
	.late = late,
};
