/* SPDX-License-Identifier: MIT */
/*
 * Functions of Ruby and PHP as the kernel saw them, with the memory of their process, in the files
 * of tests/fuzz/corpus: the first bytes are a struct function_case; each piece of the record takes
 * what is left, at most its size, and the memory, from address 0 on, the rest.
 */
#pragma once

#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/code/runtimes/runtime.h"

struct function_case {
	uint64_t code, identity;
	uint32_t units;
	uint16_t name_size, file_size;
	uint8_t name_flags, file_flags;
	uint16_t lines_size;
	uint8_t padding[4];
};

_Static_assert(sizeof(struct function_case) == 32, "as in the files");

struct function_image {
	const uint8_t *data;
	size_t size;
};

static inline bool function_image_read(void *ctx, uint64_t addr, void *to, size_t size)
{
	const struct function_image *image = ctx;

	if (addr > image->size || size > image->size - addr)
		return false;
	memcpy(to, image->data + addr, size);
	return true;
}

static inline void function_take(struct function_text *piece, uint8_t flags, size_t wanted,
				 size_t *left)
{
	piece->width = 1;
	piece->flags = flags;
	piece->size = (uint32_t)(wanted < *left ? wanted : *left);
	*left -= piece->size;
}

#define FUNCTION_CASE_HEAD sizeof(struct function_case)

/* Returns the function, to be freed, and the memory behind it; NULL: the file has no head. */
static inline struct rec_function *function_of_case(const uint8_t *data, size_t size,
						    struct function_image *image)
{
	struct rec_function *function;
	struct function_case head = {0};
	size_t left = size - FUNCTION_CASE_HEAD;

	if (size < FUNCTION_CASE_HEAD)
		return NULL;
	memcpy(&head, data, FUNCTION_CASE_HEAD);
	function = xcalloc(1, sizeof(*function) + left);
	memcpy(function->body, data + FUNCTION_CASE_HEAD, left);
	function->code = head.code;
	function->identity = head.identity;
	function->units = head.units % (1u << 20);
	function_take(&function->name, head.name_flags, head.name_size, &left);
	function_take(&function->file, head.file_flags, head.file_size, &left);
	function_take(&function->lines, 0, head.lines_size, &left);
	*image = (struct function_image){data + (size - left), left};
	return function;
}
