/* SPDX-License-Identifier: MIT */
/*
 * Functions of Perl as the kernel saw them, in the files of tests/fuzz/corpus/perl: the first bytes
 * are a struct perl_case; each piece of the record takes what is left, at most its size.
 */
#pragma once

#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/code/runtimes/runtime.h"

struct perl_case {
	uint64_t line;
	uint32_t first_line;
	uint16_t name_size, file_size, package_size;
	uint8_t flags, package_flags;
	uint8_t package_width, padding[3];
};

_Static_assert(sizeof(struct perl_case) == 24, "as in the files");

static inline void perl_take(struct function_text *piece, size_t wanted, size_t *left)
{
	piece->size = (uint32_t)(wanted < *left ? wanted : *left);
	piece->length = piece->size;
	piece->width = 1;
	*left -= piece->size;
}

/* Returns a record, to be freed; NULL: there are too few bytes. */
static inline struct rec_function *perl_function_of(const uint8_t *data, size_t size)
{
	struct rec_function *function;
	struct perl_case head;
	size_t left;

	if (size < sizeof(head))
		return NULL;
	memcpy(&head, data, sizeof(head));
	left = size - sizeof(head);
	function = xcalloc(1, sizeof(*function) + left);
	function->code = head.line;
	function->units = 1;
	function->first_line = head.first_line;
	perl_take(&function->name, head.name_size, &left);
	perl_take(&function->file, head.file_size, &left);
	perl_take(&function->lines, head.package_size, &left);
	function->name.flags = function->file.flags = head.flags;
	function->lines.flags = head.package_flags;
	function->lines.width = head.package_width;
	memcpy(function->body, data + sizeof(head), function_body_size(function));
	return function;
}
