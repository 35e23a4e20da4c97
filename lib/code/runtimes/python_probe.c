/* SPDX-License-Identifier: MIT */
#include "lib/base/bytes.h"
#include "lib/code/binary/objects.h"
#include "lib/code/runtimes/file_functions.h"
#include "lib/code/runtimes/python.h"

/*
 * struct _Py_DebugOffsets at the start of _PyRuntime (Include/internal/pycore_debug_offsets.h, in
 * 3.13 pycore_runtime.h): a cookie, the version, whether it is free-threaded, then 64-bit words
 * whose order differs between minor versions.
 */

#define COOKIE "xdebugpy"
#define COOKIE_SIZE 8
#define WORDS_AT 24

/* Indices of words that are consecutive in 3.13 to 3.15. */
enum {
	RUNTIME_INTERPRETERS = 2,
	INTERPRETER_NEXT = 5,
	INTERPRETER_THREADS = 6,
};

/* Indices of words at which parts of the list begin. */
struct debug_order {
	uint16_t version;
	uint8_t gil; /* of an interpreter: pointer to it, its own, 1 more, locked, holder */
	uint8_t thread; /* size, previous, next, interpreter, frame */
	uint8_t thread_ids; /* thread_id, native_thread_id */
	uint8_t frame; /* size, previous, executable, instruction, locals, owner */
	uint8_t code; /* size, file, name, qualified name, lines, first line, 3 more, bytecode */
	uint8_t bytes; /* size, length, text */
	uint8_t unicode; /* size, state, length, size of the ASCII header */
};

static const struct debug_order orders[] = {
	{PYTHON_VERSION(13), 11, 16, 21, 25, 31, 61, 64},
	{PYTHON_VERSION(14), 12, 19, 24, 28, 36, 71, 74},
	{PYTHON_VERSION(15), 12, 19, 27, 36, 44, 83, 86},
};

static const struct debug_order *find_order(uint16_t version)
{
	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		if (orders[i].version == version)
			return &orders[i];
	}
	return NULL;
}

uint32_t python_debug_version(const void *data, size_t size)
{
	struct bytes b;
	const char *cookie;
	uint64_t version;

	bytes_init(&b, data, size);
	cookie = bytes_take(&b, COOKIE_SIZE);
	version = bytes_u64(&b);
	if (b.failed || memcmp(cookie, COOKIE, COOKIE_SIZE) != 0 || version > UINT32_MAX)
		return 0;
	return (uint32_t)version;
}

struct words {
	struct bytes bytes;
	bool failed; /* a word is missing or not an offset */
};

/* Reads an offset in a structure; interpreters are the largest of those, with some 300 KB. */
static uint16_t word_at(struct words *words, unsigned int number)
{
	uint64_t value;

	bytes_seek(&words->bytes, WORDS_AT + 8 * (size_t)number);
	value = bytes_u64(&words->bytes);
	if (words->bytes.failed || value > UINT16_MAX) {
		words->failed = true;
		return 0;
	}
	return (uint16_t)value;
}

static uint16_t max_u16(uint16_t a, uint16_t b)
{
	return a > b ? a : b;
}

static void read_thread(struct words *words, const struct debug_order *order,
			struct python_layout *l)
{
	l->interpreters = word_at(words, RUNTIME_INTERPRETERS);
	l->interpreter_next = word_at(words, INTERPRETER_NEXT);
	l->threads = word_at(words, INTERPRETER_THREADS);
	/* Two more members lie between it and the lock. */
	l->modules = word_at(words, order->gil - 3u);
	l->thread_next = word_at(words, order->thread + 2u);
	l->thread_interpreter = word_at(words, order->thread + 3u);
	l->thread_frame = word_at(words, order->thread + 4u);
	l->thread_id = word_at(words, order->thread_ids);
	l->thread_native = word_at(words, order->thread_ids + 1u);
	l->thread_size = max_u16(max_u16(l->thread_id, l->thread_native), l->thread_frame) + 8;
}

/* Members of the GIL are members of the interpreter that owns it. */
static void read_gil(struct words *words, const struct debug_order *order, struct python_layout *l)
{
	uint16_t own = word_at(words, order->gil + 1u);
	uint16_t locked = word_at(words, order->gil + 3u);
	uint16_t holder = word_at(words, order->gil + 4u);

	l->gil = word_at(words, order->gil);
	if (!l->gil || locked < own || holder < own)
		words->failed = true;
	l->gil_locked = locked - own;
	l->gil_holder = holder - own;
}

static void read_frame(struct words *words, const struct debug_order *order,
		       struct python_layout *l)
{
	l->frame_previous = word_at(words, order->frame + 1u);
	l->frame_code = word_at(words, order->frame + 2u);
	l->frame_instruction = word_at(words, order->frame + 3u);
	l->frame_object = l->frame_instruction >= 8 ? l->frame_instruction - 8 : 0;
	l->frame_owner = word_at(words, order->frame + 5u);
	l->frame_size = (uint16_t)((l->frame_owner + 8) / 8 * 8);
}

static void read_objects(struct words *words, const struct debug_order *order,
			 struct python_layout *l)
{
	l->code_file = word_at(words, order->code + 1u);
	l->code_name = word_at(words, order->code + 3u);
	l->code_lines = word_at(words, order->code + 4u);
	l->code_first_line = word_at(words, order->code + 5u);
	l->code_bytes = word_at(words, order->code + 9u);
	l->code_size = l->code_lines + 8;
	l->bytes_size = word_at(words, order->bytes + 1u);
	l->bytes_text = word_at(words, order->bytes + 2u);
	/* A str that is not ASCII has two more words: the size and address of its UTF-8. */
	l->string_state = word_at(words, order->unicode + 1u);
	l->string_length = word_at(words, order->unicode + 2u);
	l->string_ascii = word_at(words, order->unicode + 3u);
	l->string_other = l->string_ascii + 16;
}

#define RELEASE_LEVEL(version) ((version) >> 4 & 15)
#define RELEASE_CANDIDATE 0xc

int python_layout_of_debug_offsets(const void *data, size_t size, struct python_layout *layout,
				   struct error *err)
{
	uint32_t full = python_debug_version(data, size);
	uint16_t version = (uint16_t)(full >> 16);
	const struct debug_order *order = find_order(version);
	struct words words = {0};

	if (!order || !python_layout_of_version(version, layout))
		return error_text(err, -ENOTSUP, "Python %u.%u is unknown to this version of prof",
				  full >> 24 & 255, full >> 16 & 255);
	if (RELEASE_LEVEL(full) < RELEASE_CANDIDATE)
		return error_text(err, -ENOTSUP, "pre-releases of Python 3.%u are not supported",
				  version & 255u);
	bytes_init(&words.bytes, data, size);
	bytes_seek(&words.bytes, COOKIE_SIZE + 8);
	if (bytes_u64(&words.bytes))
		return error_text(err, -ENOTSUP, "free-threaded Python is not supported");
	read_thread(&words, order, layout);
	read_gil(&words, order, layout);
	read_frame(&words, order, layout);
	read_objects(&words, order, layout);
	if (words.failed || !python_layout_is_sane(layout))
		return error_text(err, -EINVAL, "the debug offsets of Python 3.%u are invalid",
				  version & 255u);
	return 0;
}

/* Words of a code object that never change, for code_identity. */
#define WHOLE UINT64_MAX
#define LOW_HALF UINT32_MAX /* the upper half is mutable or padding */

/* Argument counts, flags, first line and pointers up to the line table. */
#define CODE_2_7 [2 ... 11] = WHOLE, [12] = LOW_HALF, [13] = WHOLE
#define CODE_3_6 [2 ... 14] = WHOLE
#define CODE_3_8 [2 ... 4] = WHOLE, [5] = LOW_HALF, [6 ... 15] = WHOLE
/* 3.11 counts calls next to the flags. */
#define CODE_3_11 [2 ... 5] = WHOLE, [6] = LOW_HALF, [7 ... 17] = WHOLE
#define CODE_3_12 [2 ... 17] = WHOLE

/* Strings and bytes; from 3.12 on str has no wchar_t any more. */
#define STRINGS(ascii, other) \
	.string_kind_shift = 2, .string_length = 16, .string_state = 32, .string_ascii = (ascii), \
	.string_other = (other), .bytes_size = 16, .bytes_text = 32
/* The state of texts that are bytes: one for each character, compact. */
#define STRING_OF_BYTES (1 | 1 << 3)

/* Common to all until 3.10. */
#define BEFORE_3_11 \
	.instruction = PYTHON_INDEX, .has_file_check = true, .has_code_object = true, \
	.threads = 8, .frame_code = 32, .frame_previous = 24

/* Common to those from 3.6, 3.7 and 3.8 on, until 3.10. */
#define SINCE_3_6 \
	BEFORE_3_11, STRINGS(48, 72), .thread_next = 8, .thread_interpreter = 16, .thread_frame = 24
#define SINCE_3_7 SINCE_3_6, .thread_id = 176, .thread_size = 184
#define SINCE_3_8 \
	SINCE_3_7, .code_identity = {CODE_3_8}, .interpreters = 32, .code_first_line = 40, \
		   .code_file = 104, .code_name = 112, .code_lines = 120, .code_size = 128, \
		   .code_bytes = 48

/* Common to 3.6 and 3.7. */
#define BEFORE_3_8 \
	.place = PYTHON_PLACE_COUNT, .code_identity = {CODE_3_6}, .index_scale = 1, \
	.code_first_line = 36, .code_file = 96, .code_name = 104, .code_lines = 112, \
	.code_size = 120, .code_bytes = 40

/* Offsets in tasks of asyncio, as in the section .AsyncioDebug. */
#define TASKS .task_name = 136, .task_kind = 108, .task_awaiter = 96

/* clang-format off */
static const struct python_layout layouts[] = {
	/* Places that the variables have on their own are set by the file. */
	{
		.version = PYTHON_VERSION_2_7, .place = PYTHON_PLACE_COUNT,
		BEFORE_3_11, .code_identity = {CODE_2_7}, .index_scale = 1,
		.thread_next = 0, .thread_interpreter = 8, .thread_frame = 16,
		.thread_id = 144, .thread_size = 152,
		.frame_instruction = 120, .frame_size = 128,
		.code_first_line = 96, .code_file = 80, .code_name = 88, .code_lines = 104,
		.code_size = 112, .code_bytes = 32,
		.string_form = STRING_OF_BYTES, .string_length = 16, .string_state = 32,
		.string_ascii = 36, .string_other = 36, .bytes_size = 16, .bytes_text = 36,
	},
	{
		.version = PYTHON_VERSION(6), BEFORE_3_8, SINCE_3_6,
		.thread_id = 152, .thread_size = 160,
		.frame_instruction = 120, .frame_size = 128,
	},
	{
		.version = PYTHON_VERSION(7), BEFORE_3_8, SINCE_3_7,
		.interpreters = 24, .gil_holder = 1272,
		.frame_instruction = 104, .frame_size = 112,
	},
	{
		.version = PYTHON_VERSION(8), .place = PYTHON_PLACE_COUNT,
		.modules = 56, .gil_holder = 1368,
		SINCE_3_8,
		.index_scale = 1, .frame_instruction = 104, .frame_size = 112,
	},
	{
		.version = PYTHON_VERSION(9), .place = PYTHON_PLACE_COUNT,
		.modules = 856, .gil_holder = 568,
		SINCE_3_8,
		.index_scale = 1, .frame_instruction = 104, .frame_size = 112,
	},
	{
		.version = PYTHON_VERSION(10), .place = PYTHON_PLACE_CFRAME,
		.modules = 856, .gil_holder = 568,
		SINCE_3_8,
		.index_scale = 2, .thread_cframe = 48, .cframe_current = UINT16_MAX,
		.cframe_previous = 8, .frame_instruction = 96, .frame_size = 104,
	},
	{
		.version = PYTHON_VERSION(11), .place = PYTHON_PLACE_CFRAME,
		.modules = 888, .gil_holder = 576,
		.code_identity = {CODE_3_11}, .instruction = PYTHON_POINTER, .owner_max = 2,
		.has_file_check = true,
		.interpreters = 40, .threads = 16,
		.thread_next = 8, .thread_interpreter = 16, .thread_id = 152, .thread_native = 160,
		.thread_cframe = 56, .thread_size = 168,
		.cframe_current = 8, .cframe_previous = 16,
		.frame_code = 32, .frame_previous = 48, .frame_instruction = 56, .frame_entry = 68,
		.frame_owner = 69, .frame_object = 40, .frame_size = 72,
		.code_first_line = 72, .code_file = 112, .code_name = 128, .code_lines = 136,
		.code_size = 144, .code_bytes = 184,
		STRINGS(48, 72),
	},
	{
		.version = PYTHON_VERSION(12), .place = PYTHON_PLACE_ENTRY,
		.modules = 944, .gil = 384, .gil_holder = 8, .gil_locked = 16,
		.code_identity = {CODE_3_12}, .instruction = PYTHON_POINTER, .entry_owner = 3,
		.owner_max = 3,
		.interpreters = 40, .threads = 72,
		.thread_next = 8, .thread_interpreter = 16, .thread_id = 136, .thread_native = 144,
		.thread_cframe = 56, .thread_size = 152,
		.cframe_current = 0, .cframe_previous = 8,
		.frame_code = 0, .frame_previous = 8, .frame_instruction = 56, .frame_owner = 70,
		.frame_object = 48, .frame_size = 72,
		.code_first_line = 68, .code_file = 112, .code_name = 128, .code_lines = 136,
		.code_size = 144, .code_bytes = 192,
		STRINGS(40, 56),
	},
	/* The debug offsets contain the rest of these. */
	{
		.version = PYTHON_VERSION(13), .place = PYTHON_PLACE_ENTRY,
		.code_identity = {CODE_3_12}, .instruction = PYTHON_POINTER, .entry_owner = 3,
		.owner_max = 3, .string_kind_shift = 2,
	},
	{
		.version = PYTHON_VERSION(14), .place = PYTHON_PLACE_ENTRY,
		.thread_task = 872, TASKS,
		.code_identity = {CODE_3_12}, .instruction = PYTHON_POINTER, .pointer_mask = 3,
		.entry_owner = 3, .owner_max = 4, .string_kind_shift = 2,
	},
	{
		.version = PYTHON_VERSION(15), .place = PYTHON_PLACE_ENTRY,
		.thread_task = 1032, TASKS,
		.code_identity = {CODE_3_12}, .instruction = PYTHON_POINTER, .pointer_mask = 3,
		.entry_owner = 3, .owner_max = 4, .string_kind_shift = 2,
	},
};
/* clang-format on */

LAYOUT_OF_VERSION(bool python_layout_of_version, python_layout)

/* Returns true if this many bytes at an offset lie within the size. */
static bool lies_within(uint32_t offset, uint32_t bytes, uint32_t size)
{
	return offset <= size && bytes <= size - offset;
}

static bool reads_are_sane(const struct python_layout *l)
{
	return l->thread_size <= PYTHON_THREAD_MAX && l->frame_size <= PYTHON_FRAME_MAX &&
	       l->code_size % 8 == 0 && l->code_size <= PYTHON_CODE_WORDS * 8;
}

static bool thread_is_sane(const struct python_layout *l)
{
	return lies_within(l->thread_next, 8, l->thread_size) &&
	       lies_within(l->thread_interpreter, 8, l->thread_size) &&
	       lies_within(l->thread_id, 8, l->thread_size) &&
	       lies_within(l->thread_native, 8, l->thread_size) &&
	       lies_within(l->thread_frame, 8, l->thread_size) &&
	       lies_within(l->thread_cframe, 8, l->thread_size);
}

static bool frame_is_sane(const struct python_layout *l)
{
	return lies_within(l->frame_code, 8, l->frame_size) &&
	       lies_within(l->frame_previous, 8, l->frame_size) &&
	       lies_within(l->frame_instruction, 8, l->frame_size) &&
	       lies_within(l->frame_owner, 1, l->frame_size) &&
	       lies_within(l->frame_object, 8, l->frame_size) &&
	       lies_within(l->frame_entry, 1, l->frame_size) && l->frame_code != l->frame_previous;
}

static bool code_is_sane(const struct python_layout *l)
{
	return lies_within(l->code_first_line, 4, l->code_size) &&
	       lies_within(l->code_file, 8, l->code_size) &&
	       lies_within(l->code_name, 8, l->code_size) &&
	       lies_within(l->code_lines, 8, l->code_size) && l->code_file != l->code_name &&
	       l->code_bytes;
}

bool python_layout_is_sane(const struct python_layout *layout)
{
	return reads_are_sane(layout) && thread_is_sane(layout) && frame_is_sane(layout) &&
	       code_is_sane(layout);
}

enum {
	RUNTIME,
	CODE_TYPE,
	STRING_TYPE,
	VERSION, /* from 3.11 on */
	ITER_SEND, /* from 3.10 on */
	GET_CODE, /* from 3.9 on */
	POS_ONLY, /* from 3.8 on */
	EXPORTED_COUNT,
	EVAL = EXPORTED_COUNT, /* from 3.6 on */
	EVAL_COLD,
	/* Until 3.6, or 2.7. */
	CURRENT,
	GET_HEAD,
	OLD_STRING_TYPE,
	OLD_EVAL,
	OLD_EVAL_COLD,
	OBJECT_COUNT,
};

static const struct binary_object wanted[OBJECT_COUNT] = {
	[RUNTIME] = {.name = "_PyRuntime"},
	[CODE_TYPE] = {.name = "PyCode_Type"},
	[STRING_TYPE] = {.name = "PyUnicode_Type"},
	[VERSION] = {.name = "Py_Version"},
	[ITER_SEND] = {.name = "PyIter_Send"},
	[GET_CODE] = {.name = "PyFrame_GetCode"},
	[POS_ONLY] = {.name = "PyCode_NewWithPosOnlyArgs"},
	[EVAL] = {.name = "_PyEval_EvalFrameDefault"},
	[EVAL_COLD] = {.name = "_PyEval_EvalFrameDefault.cold"},
	[CURRENT] = {.name = "_PyThreadState_Current"},
	[GET_HEAD] = {.name = "PyInterpreterState_Head"},
	[OLD_STRING_TYPE] = {.name = "PyString_Type"},
	[OLD_EVAL] = {.name = "PyEval_EvalFrameEx"},
	[OLD_EVAL_COLD] = {.name = "PyEval_EvalFrameEx.cold"},
};

struct python_file {
	const struct binary *binary;
	struct binary_object objects[OBJECT_COUNT];
	uint64_t runtime; /* vaddr of _PyRuntime, or of the first variable before there was one */
	uint64_t head; /* vaddr of the variable with the first interpreter; 0: in _PyRuntime */
	bool has_section;
};

#define GET_HEAD_MAX 64

/* Returns the vaddr of the variable that PyInterpreterState_Head() returns, 0: unknown. */
static uint64_t find_head(const struct python_file *f)
{
	static const uint8_t load[] = {0x48, 0x8b, 0x05}; /* mov variable(%rip),%rax */
	const struct binary_object *function = &f->objects[GET_HEAD];
	uint8_t code[GET_HEAD_MAX];
	size_t size = MIN(function->size, sizeof(code));

	if (!function->is_there || !binary_read_text(f->binary, function->vaddr, code, size))
		return 0;
	for (size_t at = sizeof(load); at + 4 <= size; at++) {
		if (memcmp(code + at - sizeof(load), load, sizeof(load)) == 0)
			return code_target(code + at, function->vaddr + at);
	}
	return 0;
}

#define RUNTIME_SECTION ".PyRuntime"

static bool find_runtime(struct python_file *f)
{
	uint64_t size;

	memcpy(f->objects, wanted, sizeof(wanted));
	if (binary_section_extent(f->binary, RUNTIME_SECTION, &f->runtime, &size)) {
		/*
		 * Functions whose name is not looked up are left out, since the other symbols are
		 * many.
		 */
		binary_find_objects(f->binary, f->objects, EXPORTED_COUNT);
		f->has_section = true;
		return true;
	}
	/* Look up only this one at first: most files lack it. */
	binary_find_mark(f->binary, &f->objects[RUNTIME]);
	if (!f->objects[RUNTIME].is_there)
		binary_find_mark(f->binary, &f->objects[CURRENT]);
	if (!f->objects[RUNTIME].is_there && !f->objects[CURRENT].is_there)
		return false;
	binary_find_objects(f->binary, f->objects, OBJECT_COUNT);
	f->runtime = f->objects[RUNTIME].vaddr;
	if (f->objects[RUNTIME].is_there)
		return true;
	f->head = find_head(f);
	f->runtime = MIN(f->head, f->objects[CURRENT].vaddr);
	return true;
}

/* Returns 0 if unknown. Old versions are recognized by their exports. */
static uint16_t find_version(const struct python_file *f)
{
	uint8_t word[4];
	struct bytes b;

	if (f->objects[VERSION].is_there) {
		if (!binary_read_text(f->binary, f->objects[VERSION].vaddr, word, sizeof(word)))
			return 0;
		bytes_init(&b, word, sizeof(word));
		return (uint16_t)(bytes_u32(&b) >> 16);
	}
	if (f->objects[ITER_SEND].is_there)
		return PYTHON_VERSION(10);
	if (f->objects[GET_CODE].is_there)
		return PYTHON_VERSION(9);
	if (f->has_section)
		return 0;
	if (f->objects[POS_ONLY].is_there)
		return PYTHON_VERSION(8);
	if (f->objects[RUNTIME].is_there)
		return PYTHON_VERSION(7);
	if (f->objects[EVAL].is_there)
		return PYTHON_VERSION(6);
	return f->objects[OLD_STRING_TYPE].is_there ? PYTHON_VERSION_2_7 : 0;
}

/* Offsets in PyTypeObject and PyMemberDef. */
#define TYPE_MEMBERS_AT 240
#define MEMBER_SIZE 40
#define MEMBER_OFFSET_AT 16
#define MEMBER_COUNT 32 /* of PyCode_Type; it has some 20 */
#define MEMBER_NAME_MAX 32

/* Returns the offset of a code object's member according to its type; 0: unknown. */
static uint64_t member_offset(const struct python_file *f, const uint8_t *members, size_t size,
			      const char *wanted_name)
{
	for (size_t at = 0; at + MEMBER_SIZE <= size; at += MEMBER_SIZE) {
		char name[MEMBER_NAME_MAX] = "";
		size_t length = strlen(wanted_name) + 1;
		struct bytes b;
		uint64_t name_at;

		bytes_init(&b, members + at, MEMBER_SIZE);
		name_at = bytes_u64(&b);
		if (!name_at)
			break;
		bytes_seek(&b, MEMBER_OFFSET_AT);
		if (length <= sizeof(name) && binary_read_text(f->binary, name_at, name, length) &&
		    memcmp(name, wanted_name, length) == 0)
			return bytes_u64(&b);
	}
	return 0;
}

/* Compares the layout with the attribute offsets in the type of code objects. */
static bool members_agree(const struct python_file *f, const struct python_layout *l)
{
	const struct {
		const char *name;
		uint16_t offset;
	} checks[] = {
		{"co_filename", l->code_file},
		{l->version >= PYTHON_VERSION(11) ? "co_qualname" : "co_name", l->code_name},
		{l->version >= PYTHON_VERSION(10) ? "co_linetable" : "co_lnotab", l->code_lines},
		{"co_firstlineno", l->code_first_line},
	};
	uint8_t members[MEMBER_COUNT * MEMBER_SIZE], word[8];
	size_t size = sizeof(members);
	struct bytes b;
	uint64_t at;

	if (!binary_read_loaded(f->binary, f->objects[CODE_TYPE].vaddr + TYPE_MEMBERS_AT, word,
				sizeof(word)))
		return false;
	bytes_init(&b, word, sizeof(word));
	at = bytes_u64(&b);
	/* The array may lie at the end of the bytes in the file. */
	while (size && !binary_read_loaded(f->binary, at, members, size))
		size -= MEMBER_SIZE;
	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		if (member_offset(f, members, size, checks[i].name) != checks[i].offset)
			return false;
	}
	return true;
}

static int layout_from_table(const struct python_file *f, struct python_layout *layout,
			     struct error *err)
{
	uint16_t version = find_version(f);

	/* The section exists since 3.10, debug offsets since 3.13. */
	if (!version)
		return error_text(err, -ENOTSUP,
				  f->has_section ? "Python 3.10, 3.11 or 3.12 without symbols"
						 : "Python is older than 3.6, and not 2.7");
	if (version >= PYTHON_VERSION(13) || !python_layout_of_version(version, layout))
		return error_text(err, -ENOTSUP, "Python %u.%u is not supported", version >> 8,
				  version & 255u);
	return 0;
}

static int find_layout(const struct python_file *f, struct python_layout *layout, struct error *err)
{
	uint8_t head[PYTHON_DEBUG_OFFSETS_SIZE];

	if (binary_read_text(f->binary, f->runtime, head, sizeof(head)) &&
	    python_debug_version(head, sizeof(head)))
		return python_layout_of_debug_offsets(head, sizeof(head), layout, err);
	return layout_from_table(f, layout, err);
}

/* Sets the offsets of variables from the first of them. Returns false if they are too far apart. */
static bool set_old_variables(const struct python_file *f, struct python_layout *layout)
{
	uint64_t current = f->objects[CURRENT].vaddr - f->runtime, head = f->head - f->runtime;

	if (!f->head || current > UINT16_MAX || head > UINT16_MAX)
		return false;
	layout->interpreters = (uint16_t)head;
	/* The thread that holds the lock is the current one. */
	layout->gil_holder = (uint16_t)current;
	return true;
}

static void set_addresses(const struct python_file *f, struct python_layout *layout)
{
	int eval = layout->version == PYTHON_VERSION_2_7 ? OLD_EVAL : EVAL;

	layout->runtime = f->runtime;
	layout->code_type = f->objects[CODE_TYPE].vaddr;
	layout->string_type = f->objects[STRING_TYPE].vaddr;
	if (!layout->string_type)
		layout->thread_task = 0;
	if (layout->place != PYTHON_PLACE_COUNT)
		return;
	for (int i = 0; i < 2; i++) {
		const struct binary_object *code = &f->objects[eval + i];

		if (!code->is_there ||
		    __builtin_add_overflow(code->vaddr, code->size, &layout->eval_end[i]))
			continue;
		layout->eval_start[i] = code->vaddr;
	}
}

int python_probe(const struct binary *b, struct runtime_layout *layout, struct error *err)
{
	struct python_file f = {.binary = b};
	struct python_layout *l = &layout->python;
	int result;

	if (!find_runtime(&f))
		return 0;
	result = find_layout(&f, l, err);
	if (result != 0)
		return result;
	/* Tables, unlike debug offsets, need a check: the build may differ or be patched. */
	if (!f.objects[CODE_TYPE].is_there && l->version < PYTHON_VERSION(13))
		return error_text(err, -ENOTSUP, "Python 3.%u without symbols", l->version & 255u);
	if (f.objects[CODE_TYPE].is_there && !members_agree(&f, l))
		return error_text(err, -EINVAL, "Python %u.%u has code objects of an unknown form",
				  l->version >> 8, l->version & 255u);
	set_addresses(&f, l);
	if (f.objects[CURRENT].is_there && !set_old_variables(&f, l))
		return error_text(err, -ENOTSUP, "Python %u.%u has no known place of its threads",
				  l->version >> 8, l->version & 255u);
	if (l->place == PYTHON_PLACE_COUNT && l->eval_end[0] <= l->eval_start[0])
		return error_text(err, -ENOTSUP, "the interpreter of Python %u.%u has no symbol",
				  l->version >> 8, l->version & 255u);
	/* The JIT's code pushes one to four words at a time. */
	if (l->version == PYTHON_VERSION(13) || l->version == PYTHON_VERSION(14))
		layout->shim_words = 16;
	layout->kind = RUNTIME_PYTHON;
	return 0;
}
