/* SPDX-License-Identifier: MIT */
/*
 * struct _Py_DebugOffsets at the start of _PyRuntime (Include/internal/pycore_debug_offsets.h, of
 * 3.13 pycore_runtime.h): a cookie, the version, whether it is free-threaded, then a list of 64-bit
 * words in an order of its own in each minor version.
 */
#include <errno.h>
#include <string.h>

#include "lib/base/bytes.h"
#include "lib/code/runtimes/python.h"

#define COOKIE "xdebugpy"
#define COOKIE_SIZE 8
#define WORDS_AT 24

/* Numbers of the words of 3.13 to 3.15 that follow each other in all. */
enum {
	RUNTIME_INTERPRETERS = 2,
	INTERPRETER_NEXT = 5,
	INTERPRETER_THREADS = 6,
};

/* Numbers of words at which parts of the list begin. */
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
	bool failed; /* a word is not there, or no offset */
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
	l->thread_next = word_at(words, order->thread + 2u);
	l->thread_interpreter = word_at(words, order->thread + 3u);
	l->thread_frame = word_at(words, order->thread + 4u);
	l->thread_id = word_at(words, order->thread_ids);
	l->thread_native = word_at(words, order->thread_ids + 1u);
	l->thread_size = max_u16(max_u16(l->thread_id, l->thread_native), l->thread_frame) + 8;
}

/* Members of the GIL are those of the interpreter that owns it. */
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
	/* A str that is not ASCII has two words more: the size and address of its UTF-8. */
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
		return error_text(err, -ENOTSUP, "Python %u.%u is not known to this prof",
				  full >> 24 & 255, full >> 16 & 255);
	if (RELEASE_LEVEL(full) < RELEASE_CANDIDATE)
		return error_text(err, -ENOTSUP, "Python 3.%u before its release is not supported",
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
		return error_text(err, -EINVAL, "the debug offsets of Python 3.%u make no sense",
				  version & 255u);
	return 0;
}
