/* SPDX-License-Identifier: MIT */
#include "lib/live/code/code_lines.h"

/* Returns false for garbage, which some writers store there. */
static bool is_path(const char *text, size_t size)
{
	for (size_t at = 0; at < size;) {
		size_t length = text_utf8_length(text + at, size - at);

		if (!length || (uint8_t)text[at] < ' ')
			return false;
		at += length;
	}
	return size;
}

static bool same_file(struct code_lines *l, const char *name, uint32_t *file)
{
	const char *last = l->files + l->rows[l->count - 1].file;

	if (strcmp(name, "\xff") != 0 && strcmp(name, last) != 0)
		return false;
	*file = l->rows[l->count - 1].file;
	return true;
}

bool code_lines_add(struct code_lines *l, uint64_t offset, uint32_t line, const char *name)
{
	struct rec_code_line row = {.offset = (uint32_t)offset, .line = line};
	size_t size = strlen(name);

	if (offset > UINT32_MAX || l->count == CODE_LINES_MAX ||
	    (l->count && offset < l->rows[l->count - 1].offset))
		return false;
	if (!l->count || !same_file(l, name, &row.file)) {
		if (!is_path(name, size) || size >= CODE_FILES_SIZE_MAX - l->files_size)
			return false;
		row.file = (uint32_t)l->files_size;
		memcpy(l->files + l->files_size, name, size + 1);
		l->files_size += size + 1;
	}
	l->rows[l->count++] = row;
	return true;
}
