/* SPDX-License-Identifier: MIT */
#include "lib/model/languages/code_name.h"

#include <string.h>

#include "lib/model/languages/language.h"

bool code_name_starts_with(const char *text, size_t size, const char *prefix)
{
	size_t prefix_size = strlen(prefix);

	return size >= prefix_size && memcmp(text, prefix, prefix_size) == 0;
}

void code_name_set_file(struct code_name *out, const char *file, size_t size)
{
	static const char scheme[] = "file://";

	if (code_name_starts_with(file, size, scheme)) {
		file += sizeof(scheme) - 1;
		size -= sizeof(scheme) - 1;
	}
	if (!size)
		return;
	out->file = file;
	out->file_size = size;
}

void code_name_parse(struct code_name *out, const char *text, size_t size)
{
	*out = (struct code_name){.name = text, .name_size = size};
	for (uint8_t i = LANGUAGE_NONE + 1; i < LANGUAGE_COUNT; i++) {
		if (!languages[i]->parse_name || !languages[i]->parse_name(out, text, size))
			continue;
		out->language = i;
		return;
	}
}
