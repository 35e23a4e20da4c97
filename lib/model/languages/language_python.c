/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "lib/base/strbuf.h"
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

/* PostgreSQL's PL/Python: "__plpython_procedure_hot_16394.<locals>.f" → "hot.<locals>.f" */
static enum code_role translate(const char *name, size_t size, const char *file, size_t file_size,
				struct strbuf *out)
{
	static const char prefix[] = "__plpython_procedure_";
	const char *dot, *end;

	(void)file;
	(void)file_size;
	if (!code_name_starts_with(name, size, prefix))
		return CODE_OWN;
	name += sizeof(prefix) - 1;
	size -= sizeof(prefix) - 1;
	dot = memchr(name, '.', size);
	end = dot ? dot : name + size;
	dot = end;
	while (end > name && end[-1] >= '0' && end[-1] <= '9')
		end--;
	if (end == dot || end - name < 2 || end[-1] != '_')
		return CODE_OWN;
	strbuf_add(out, name, (size_t)(end - 1 - name));
	strbuf_add(out, dot, size - (size_t)(dot - name));
	return CODE_OWN;
}

const struct language language_python = {
	.category = {"Python", "blue", tiers},
	.parse_name = parse_name,
	.translate = translate,
	.all_code = "py::jit:executor",
	.lock_tier = 1,
};
