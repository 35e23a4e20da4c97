/* SPDX-License-Identifier: MIT */
/*
 * Functions of Lua as the kernel saw them, in the files of tests/fuzz/corpus/lua: the first bytes
 * are a struct lua_case; each piece of the record takes what is left, at most its size.
 */
#pragma once

#include <string.h>

#include "lib/base/cleanup.h"
#include "lib/code/runtimes/runtime.h"

struct lua_case {
	uint32_t first_line;
	uint16_t name_size, file_size, lines_size;
	uint8_t has_marks, flags;
};

_Static_assert(sizeof(struct lua_case) == 12, "as in the files");

static inline void lua_take(struct function_text *piece, size_t wanted, size_t *left)
{
	piece->size = (uint32_t)(wanted < *left ? wanted : *left);
	piece->length = piece->size;
	piece->width = 1;
	*left -= piece->size;
}

/* Returns a record, to be freed, and sets the layout; NULL: there are too few bytes. */
static inline struct rec_function *lua_function_of(const uint8_t *data, size_t size,
						   struct runtime_layout *layout)
{
	struct rec_function *function;
	struct lua_case head;
	size_t left;

	if (size < sizeof(head))
		return NULL;
	memcpy(&head, data, sizeof(head));
	left = size - sizeof(head);
	*layout = (struct runtime_layout){.kind = RUNTIME_LUA};
	layout->lua.marks = head.has_marks ? 96 : 0;
	function = xcalloc(1, sizeof(*function) + left);
	function->units = 1;
	function->first_line = head.first_line;
	lua_take(&function->name, head.name_size, &left);
	lua_take(&function->file, head.file_size, &left);
	lua_take(&function->lines, head.lines_size, &left);
	function->name.flags = function->file.flags = head.flags;
	memcpy(function->body, data + sizeof(head), function_body_size(function));
	return function;
}
