/* SPDX-License-Identifier: MIT */
#include "lib/live/process/path_names.h"

void path_names_join(struct strbuf *path, const char *names, size_t size, bool is_cut)
{
	if (is_cut)
		strbuf_adds(path, "\xe2\x80\xa6");
	while (size) {
		size_t end = size - 1, start = end;

		while (start && names[start - 1])
			start--;
		strbuf_addch(path, '/');
		strbuf_add(path, names + start, end - start);
		size = start;
	}
	if (!path->size)
		strbuf_addch(path, '/');
}
