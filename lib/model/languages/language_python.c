/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "lib/model/languages/language.h"

/* CPython: "py::name:/path/file.py" */

static const char *const tiers[] = {"Other", "With the GIL", "Without the GIL", NULL};

static bool parse_name(struct code_name *out, const char *text, size_t size)
{
	static const char tag[] = "py::";
	const char *colon;
	size_t name_size;

	if (!code_name_starts_with(text, size, tag))
		return false;
	text += sizeof(tag) - 1;
	size -= sizeof(tag) - 1;
	colon = memchr(text, ':', size);
	name_size = colon ? (size_t)(colon - text) : size;
	if (colon)
		code_name_set_file(out, colon + 1, size - name_size - 1);
	if (name_size) {
		out->name = text;
		out->name_size = name_size;
	}
	return true;
}

const struct language language_python = {
	.category = {"Python", "blue", tiers},
	.parse_name = parse_name,
	.all_code = "py::jit:executor",
	.program = "python",
	.lock_tier = 1,
};
