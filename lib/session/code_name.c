/* SPDX-License-Identifier: MIT */
#include "lib/session/code_name.h"

#include <string.h>

#include "lib/profile/categories.h"

static const char anonymous[] = "(anonymous)";

/* The tags that V8 begins a name with. */
static const struct {
	const char *tag;
	uint8_t tier;
	bool is_function; /* of a script: a mark for the tier, a name, a place */
} tags[] = {
	{"JS:", JAVASCRIPT_OTHER, true},
	{"LazyCompile:", JAVASCRIPT_OTHER, true},
	{"Function:", JAVASCRIPT_OTHER, true},
	{"Eval:", JAVASCRIPT_OTHER, true},
	{"Script:", JAVASCRIPT_OTHER, true},
	{"InterpretedFunction:", JAVASCRIPT_INTERPRETER, true},
	{"Builtin:", JAVASCRIPT_BUILTIN, false},
	{"BytecodeHandler:", JAVASCRIPT_INTERPRETER, false},
	{"RegExp:", JAVASCRIPT_REGEXP, false},
	{"Stub:", JAVASCRIPT_OTHER, false},
	{"Handler:", JAVASCRIPT_OTHER, false},
};

static bool begins_with(const char *text, size_t size, const char *prefix)
{
	size_t prefix_size = strlen(prefix);

	return size >= prefix_size && memcmp(text, prefix, prefix_size) == 0;
}

/* How V8 marks the tier; false: it is part of the name. */
static bool tier_of_mark(char mark, uint8_t *tier)
{
	switch (mark) {
	case '~':
		*tier = JAVASCRIPT_INTERPRETER;
		return true;
	case '^':
		*tier = JAVASCRIPT_BASELINE;
		return true;
	case '+':
		*tier = JAVASCRIPT_MIDTIER;
		return true;
	case '*':
		*tier = JAVASCRIPT_OPTIMIZED;
		return true;
	}
	return false;
}

/* Takes ":NUMBER" off the end. */
static bool cut_number(const char *text, size_t *size, uint32_t *number)
{
	size_t at = *size;
	uint64_t value = 0;

	while (at && text[at - 1] >= '0' && text[at - 1] <= '9')
		at--;
	if (at == *size || *size - at > 9 || !at || text[at - 1] != ':')
		return false;
	for (size_t i = at; i < *size; i++)
		value = value * 10 + (uint64_t)(text[i] - '0');
	*number = (uint32_t)value;
	*size = at - 1;
	return true;
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* A path from the root, or something with a scheme: "node:fs", "file:///x". */
static bool begins_file(const char *text, size_t size)
{
	size_t at = 0;

	if (size && text[0] == '/')
		return true;
	while (at < size && (is_letter(text[at]) || text[at] == '-'))
		at++;
	return at > 1 && at < size && text[at] == ':';
}

/*
 * Both the name of a function and that of its file can have spaces in them. A file that looks like
 * one decides, else the first space.
 */
static const char *find_file(const char *text, size_t size)
{
	const char *end = text + size, *space;

	for (const char *at = text; (space = memchr(at, ' ', (size_t)(end - at))); at = space + 1) {
		if (begins_file(space + 1, (size_t)(end - space - 1)))
			return space;
	}
	return memchr(text, ' ', size);
}

static void set_file(struct code_name *out, const char *file, size_t size)
{
	static const char scheme[] = "file://";

	if (begins_with(file, size, scheme)) {
		file += sizeof(scheme) - 1;
		size -= sizeof(scheme) - 1;
	}
	if (!size)
		return;
	out->file = file;
	out->file_size = size;
}

static void parse_function(struct code_name *out, const char *text, size_t size)
{
	const char *space;
	uint32_t last;

	if (size && tier_of_mark(text[0], &out->tier)) {
		text++;
		size--;
	}
	out->is_js = true;
	space = find_file(text, size);
	if (space) {
		const char *file = space + 1;
		size_t file_size = size - (size_t)(file - text);

		if (cut_number(file, &file_size, &last)) {
			out->line = last;
			if (cut_number(file, &file_size, &out->line))
				out->column = last;
		}
		set_file(out, file, file_size);
		size = (size_t)(space - text);
	}
	out->name = size ? text : anonymous;
	out->name_size = size ? size : sizeof(anonymous) - 1;
}

static bool parse_v8(struct code_name *out, const char *text, size_t size)
{
	for (size_t i = 0; i < sizeof(tags) / sizeof(*tags); i++) {
		size_t tag_size = strlen(tags[i].tag);

		if (!begins_with(text, size, tags[i].tag))
			continue;
		out->language = LANGUAGE_JAVASCRIPT;
		out->tier = tags[i].tier;
		if (tags[i].is_function)
			parse_function(out, text + tag_size, size - tag_size);
		return true;
	}
	return false;
}

static void parse_python(struct code_name *out, const char *text, size_t size)
{
	const char *colon = memchr(text, ':', size);
	size_t name_size = colon ? (size_t)(colon - text) : size;

	out->language = LANGUAGE_PYTHON;
	if (colon)
		set_file(out, colon + 1, size - name_size - 1);
	if (!name_size)
		return;
	out->name = text;
	out->name_size = name_size;
}

void code_name_parse(struct code_name *out, const char *text, size_t size)
{
	static const char python[] = "py::";

	*out = (struct code_name){.name = text, .name_size = size};
	if (!parse_v8(out, text, size) && begins_with(text, size, python))
		parse_python(out, text + sizeof(python) - 1, size - (sizeof(python) - 1));
}
