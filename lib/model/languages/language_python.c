/* SPDX-License-Identifier: MIT */
#include "lib/model/languages/language.h"

/* CPython: "py::name:/path/file.py" */

static const char *const tiers[] = {"Other", "With the GIL", "Without the GIL", NULL};

/*
 * numba, recognized by its compiler's symbols: "_ZN8__main__3fibB2v1B38c8tJTIeFIjxB2…Ex", the parts
 * of the function's name with their sizes, then its version and a hash. The code by which Python
 * and C call such a function has symbols of the same form, with a part "cpython" or a prefix.
 */

#define NUMBA_NAME "_ZN"
#define NUMBA_C_ENTRY "cfunc."
#define NUMBA_ENTRY_PART "cpython"

static bool next_part(const char **at, const char *end, const char **part, size_t *size)
{
	const char *begin = *at;
	uint64_t value;

	if (begin == end || *begin < '1' || *begin > '9' ||
	    !text_scan_decimal(&begin, end, &value) || value > (uint64_t)(end - begin))
		return false;
	*part = begin;
	*size = (size_t)value;
	*at = begin + value;
	return true;
}

static size_t numba_prefix(const char *text, size_t size)
{
	if (code_name_starts_with(text, size, NUMBA_C_ENTRY NUMBA_NAME))
		return sizeof(NUMBA_C_ENTRY NUMBA_NAME) - 1;
	return code_name_starts_with(text, size, NUMBA_NAME) ? sizeof(NUMBA_NAME) - 1 : 0;
}

/* The name has the form that translate_numba() reads: a prefix for C's entry, and the parts. */
static bool parse_numba(struct code_name *out, const char *text, size_t size)
{
	size_t prefix = numba_prefix(text, size), part_size;
	const char *at = text + prefix, *end = text + size, *part, *parts_end;

	while (prefix && next_part(&at, end, &part, &part_size))
		;
	parts_end = at;
	if (!prefix || at == text + prefix || at == end || *at++ != 'B' ||
	    !next_part(&at, end, &part, &part_size) || *part != 'v' || at == end || *at != 'B')
		return false;
	out->name = prefix == sizeof(NUMBA_NAME) - 1 ? text + prefix : text;
	out->name_size = (size_t)(parts_end - out->name);
	return true;
}

/* Some characters are written as hexadecimal numbers: "_3clocals_3e". */
static void add_part(struct strbuf *out, const char *part, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		bool is_escape = size - i >= 3 && part[i] == '_' && part[i + 1] == '3' &&
				 (part[i + 2] == 'c' || part[i + 2] == 'e');

		strbuf_addch(out, !is_escape ? part[i] : part[i + 2] == 'c' ? '<' : '>');
		i += is_escape ? 2 : 0;
	}
}

static enum code_role translate_numba(const char *name, size_t size, struct strbuf *out)
{
	size_t prefix = numba_prefix(name, size), part_size;
	const char *at = name + prefix, *end = name + size, *part;
	enum code_role role = prefix ? CODE_ENTRY : CODE_OWN;
	size_t count = 0;

	for (; next_part(&at, end, &part, &part_size); count++) {
		if (!count && part_size == sizeof(NUMBA_ENTRY_PART) - 1 &&
		    memcmp(part, NUMBA_ENTRY_PART, part_size) == 0) {
			role = CODE_ENTRY;
			continue;
		}
		if (out->size)
			strbuf_addch(out, '.');
		add_part(out, part, part_size);
	}
	return role;
}

static bool parse_name(struct code_name *out, const char *text, size_t size)
{
	static const char tag[] = "py::";
	const char *colon;
	size_t name_size;

	if (!code_name_starts_with(text, size, tag))
		return parse_numba(out, text, size);
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

/* numba's names, and those of PostgreSQL's PL/Python: "__plpython_procedure_hot_16394.<locals>.f" →
 * "hot.<locals>.f" */
static enum code_role translate(const char *name, size_t size, const char *file, size_t file_size,
				struct strbuf *out)
{
	static const char prefix[] = "__plpython_procedure_";
	const char *dot, *end;

	if (size && ((*name >= '1' && *name <= '9') || numba_prefix(name, size)))
		return translate_numba(name, size, out);
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
	.category = {language_title_python, "blue", tiers},
	.parse_name = parse_name,
	.translate = translate,
	.all_code = "py::jit:executor",
	.lock_tier = 1,
	.has_own_heap = true,
	.heap_variable = "PYTHONMALLOC",
};
