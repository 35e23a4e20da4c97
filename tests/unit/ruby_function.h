/* SPDX-License-Identifier: MIT */
/*
 * Functions of Ruby as the kernel saw them, with the memory of their process, in the files of
 * tests/fuzz/corpus/ruby: the first bytes are a struct ruby_case; each piece of the record takes
 * what is left, at most its size, and the memory, from address 0 on, the rest.
 */
#pragma once

#include <string.h>

#include "lib/base/alloc.h"
#include "lib/code/runtimes/ruby.h"

struct ruby_case {
	uint64_t code, identity;
	uint32_t units;
	uint16_t name_size, file_size;
	uint8_t name_flags, file_flags;
	uint8_t padding[6];
};

_Static_assert(sizeof(struct ruby_case) == 32, "as in the files");

struct ruby_image {
	const uint8_t *data;
	size_t size;
};

static inline bool ruby_image_read(void *ctx, uint64_t addr, void *to, size_t size)
{
	const struct ruby_image *image = ctx;

	if (addr > image->size || size > image->size - addr)
		return false;
	memcpy(to, image->data + addr, size);
	return true;
}

static inline void ruby_take(struct function_text *piece, uint8_t flags, size_t wanted,
			     size_t *left)
{
	piece->width = 1;
	piece->flags = flags;
	piece->size = (uint32_t)(wanted < *left ? wanted : *left);
	*left -= piece->size;
}

#define RUBY_CASE_HEAD sizeof(struct ruby_case)

/* Returns the function, to be freed, and the memory behind it; NULL: the file has no head. */
static inline struct rec_function *ruby_function_of(const uint8_t *data, size_t size,
						    struct ruby_image *image)
{
	struct rec_function *function;
	struct ruby_case head = {0};
	size_t left = size - RUBY_CASE_HEAD;

	if (size < RUBY_CASE_HEAD)
		return NULL;
	memcpy(&head, data, RUBY_CASE_HEAD);
	function = xcalloc(1, sizeof(*function) + left);
	memcpy(function->body, data + RUBY_CASE_HEAD, left);
	function->code = head.code;
	function->identity = head.identity;
	function->units = head.units % (1u << 20);
	ruby_take(&function->name, head.name_flags, head.name_size, &left);
	ruby_take(&function->file, head.file_flags, head.file_size, &left);
	ruby_take(&function->lines, 0, sizeof(struct ruby_function_head), &left);
	*image = (struct ruby_image){data + (size - left), left};
	return function;
}
