/* SPDX-License-Identifier: MIT */
/*
 * Compiled regular expressions. Their code is an object of V8's heap like that of functions, but
 * nothing in it, nor in its frames, leads to the expression: only the expression's data refers to
 * the code, itself or by a wrapper.
 */
#include "lib/code/runtimes/v8.h"

#define ALIGNMENT 64 /* of the first instruction */
#define SIZE_MAX_CODE ((uint32_t)1 << 20)
/* Bytes before an address to search for the code's start. */
#define SEARCH_BYTES (SIZE_MAX_CODE / 4)
#define HASHED 4096 /* bytes of the code that are compared to recognize it */
/* Words of an expression's data before a reference to its code. */
#define DATA_WORDS 11
#define TAG_MAX 3
#define FLAGS_MAX 0xffff
#define PATTERN_MAX 1024 /* bytes */
#define WRAPPER_WORDS 8 /* of a Code, in which its wrapper is */

/* Reads a Code. Returns false if it is not a Code whose instructions begin there. */
static bool read_code(const struct v8_heap *h, uint64_t reference, uint64_t start, uint64_t *words)
{
	const struct v8_layout *l = h->layout;

	return v8_heap_is(h, reference, V8_CODE) &&
	       v8_heap_object(h, reference, V8_CODE_NUMBERS, words, V8_CODE_MAX / 8) &&
	       (l->code_header ? reference - 1 + l->code_header : words[l->code_start / 8]) ==
		       start;
}

/* V8 14.2 added a kind of code. */
static uint32_t regexp_kind(const struct v8_layout *l)
{
	return l->major >= 14 && l->code_baseline > 10 ? 4 : 3;
}

static uint32_t number_at(const uint64_t *words, uint8_t at)
{
	return (uint32_t)(words[at / 8] >> (at & 4) * 8);
}

/* Finds the Code whose instructions contain the address. Returns a reference; 0: none. */
static uint64_t find_code(const struct v8_heap *h, uint64_t addr, uint64_t *words,
			  struct sampled_code *code)
{
	const struct v8_layout *l = h->layout;
	uint64_t start = addr & ~(uint64_t)(ALIGNMENT - 1);

	for (; start > l->stream_size && addr - start < SEARCH_BYTES; start -= ALIGNMENT) {
		uint64_t head[2], reference = start - l->code_header + 1;

		if (!v8_heap_words(h, start + 1 - l->stream_size, 0, head, 2))
			return 0;
		if (!l->code_header)
			reference = head[1];
		if (!read_code(h, reference, start, words))
			continue;
		code->start = start;
		code->size = number_at(words, l->code_size);
		return addr - start < code->size && code->size <= SIZE_MAX_CODE ? reference : 0;
	}
	return 0;
}

/* Since V8 12, data outside of memory that only V8 writes refers to a wrapper of the code. */
static uint64_t find_wrapper(const struct v8_heap *h, uint64_t reference, const uint64_t *words)
{
	for (size_t i = 1; i < WRAPPER_WORDS; i++) {
		uint64_t back;

		if (v8_heap_words(h, words[i], 8, &back, 1) && back == reference)
			return words[i];
	}
	return 0;
}

bool v8_find_regexp(const struct runtime_layout *layout, uint64_t addr, runtime_read_fn *read,
		    void *ctx, struct sampled_code *code)
{
	const struct v8_heap h = v8_heap_of(&layout->v8, 0, 0, read, ctx);
	uint64_t words[V8_CODE_MAX / 8], reference;
	uint8_t bytes[HASHED];
	size_t size;

	/* Compressed references lack the address of the memory that they point into. */
	if (!layout->v8.code_size || layout->v8.is_compressed)
		return false;
	reference = find_code(&h, addr, words, code);
	if (!reference)
		return false;
	code->is_named = (number_at(words, layout->v8.code_flags) & V8_CODE_KIND) ==
			 regexp_kind(&layout->v8);
	if (!code->is_named)
		return true;
	code->holders[0] = reference;
	code->holders[1] = layout->v8.code_header ? 0 : find_wrapper(&h, reference, words);
	size = code->size < sizeof(bytes) ? code->size : sizeof(bytes);
	code->hash = read(ctx, code->start, bytes, size) ? hash_bytes(bytes, size, code->size) : 0;
	strbuf_adds(&code->name, "RegExp:");
	return true;
}

static void take_text(void *ctx, unsigned int width, const void *text, size_t size)
{
	v8_text(width, text, size, ctx);
}

/* A tag or flags, as a small integer. */
static bool is_number(uint64_t word, uint32_t min, uint32_t max)
{
	return !(uint32_t)word && word >> 32 >= min && word >> 32 <= max;
}

/*
 * The data has a tag, the pattern (since V8 14.9 twice: once as it was written), flags, in newer
 * versions a wrapper and more, then the code for strings of one byte per character, and that for
 * those of two.
 */
bool v8_name_regexp(const struct runtime_layout *layout, uint64_t place, runtime_read_fn *read,
		    void *ctx, struct sampled_code *code)
{
	const struct v8_heap h = v8_heap_of(&layout->v8, 0, 0, read, ctx);
	_cleanup_(strbuf_release) struct strbuf pattern = {0};
	uint64_t words[DATA_WORDS];

	if (!v8_heap_words(&h, place + 1 - sizeof(words), 0, words, DATA_WORDS))
		return false;
	for (size_t i = DATA_WORDS - 1; --i > 0;) {
		size_t flags = i + 1 + (words[i + 1] & 1);

		strbuf_reset(&pattern);
		if (!is_number(words[i - 1], 1, TAG_MAX) || flags == DATA_WORDS ||
		    !is_number(words[flags], 0, FLAGS_MAX) ||
		    !v8_heap_string(&h, words[i], PATTERN_MAX, take_text, &pattern))
			continue;
		strbuf_add(&code->name, pattern.text, pattern.size);
		return true;
	}
	return false;
}
