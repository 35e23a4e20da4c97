/* SPDX-License-Identifier: MIT */
#include "lib/model/languages/language.h"

/*
 * V8, as in node: "JS:*name /path/file.js:12:3" (older: "LazyCompile:", "Function:"), where the
 * mark before the name is the tier; "Builtin:Name"; "RegExp:pattern" or, since V8 13,
 * "RegExp.> src: 'pattern' flags: ''".
 */

/* Tiers that run a function, from the slowest to the fastest, then other kinds of code. */
enum tier {
	TIER_OTHER,
	TIER_INTERPRETER,
	TIER_BASELINE,
	TIER_MIDTIER,
	TIER_OPTIMIZED,
	TIER_BUILTIN,
	TIER_REGEXP,
	TIER_WASM,
	TIER_COUNT,
};

static const char *const tiers[TIER_COUNT + 1] = {
	[TIER_OTHER] = "Other",		[TIER_INTERPRETER] = "Interpreter",
	[TIER_BASELINE] = "Baseline",	[TIER_MIDTIER] = "Mid-tier",
	[TIER_OPTIMIZED] = "Optimized", [TIER_BUILTIN] = "Builtin",
	[TIER_REGEXP] = "RegExp",	[TIER_WASM] = "WebAssembly",
};

static const char anonymous[] = "(anonymous)";

/* The tags with which V8's names begin. */
static const struct {
	const char *tag;
	uint8_t tier;
	bool is_function; /* of a script: tier mark, name, position */
} tags[] = {
	{"JS:", TIER_OTHER, true},	   {"LazyCompile:", TIER_OTHER, true},
	{"Function:", TIER_OTHER, true},   {"Eval:", TIER_OTHER, true},
	{"Script:", TIER_OTHER, true},	   {"InterpretedFunction:", TIER_INTERPRETER, true},
	{"Builtin:", TIER_BUILTIN, false}, {"BytecodeHandler:", TIER_INTERPRETER, false},
	{"RegExp:", TIER_REGEXP, false},   {"RegExp.", TIER_REGEXP, false},
	{"Stub:", TIER_OTHER, false},	   {"Handler:", TIER_OTHER, false},
};

/* Maps V8's mark of the tier. Returns false if the character is part of the name. */
static bool tier_of_mark(char mark, uint8_t *tier)
{
	switch (mark) {
	case '~':
		*tier = TIER_INTERPRETER;
		return true;
	case '^':
		*tier = TIER_BASELINE;
		return true;
	case '+':
		*tier = TIER_MIDTIER;
		return true;
	case '*':
		*tier = TIER_OPTIMIZED;
		return true;
	}
	return false;
}

/* Removes ":NUMBER" from the end. */
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

/* True for a path from the root or a URL: "node:fs", "file:///x". */
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
 * Names of functions and files may both contain spaces. Splits before the part that looks like a
 * file, else at the first space.
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

/*
 * Skips the mark of the tier. Since V8 13, "o" before it means code entered in a loop, and "'"
 * after it code of a single closure.
 */
static void skip_marks(struct code_name *out, const char **text, size_t *size)
{
	const char *at = *text, *end = at + *size;
	uint8_t tier;

	if (end - at > 1 && *at == 'o' && tier_of_mark(at[1], &tier))
		at++;
	if (at < end && tier_of_mark(*at, &out->tier))
		at += at + 1 < end && at[1] == '\'' ? 2 : 1;
	*size -= (size_t)(at - *text);
	*text = at;
}

/*
 * Strips the number and the compiler from a WebAssembly function, "wasm-function[1]-1-liftoff".
 * Returns false for other names.
 */
static bool cut_wasm(struct code_name *out, const char *text, size_t *size)
{
	static const struct {
		const char *compiler;
		uint8_t tier;
	} compilers[] = {{"-liftoff", TIER_BASELINE}, {"-turbofan", TIER_OPTIMIZED}};

	for (size_t i = 0; i < sizeof(compilers) / sizeof(*compilers); i++) {
		size_t compiler_size = strlen(compilers[i].compiler), end;

		if (*size <= compiler_size ||
		    memcmp(text + *size - compiler_size, compilers[i].compiler, compiler_size) != 0)
			continue;
		end = *size - compiler_size;
		while (end && text[end - 1] >= '0' && text[end - 1] <= '9')
			end--;
		if (end < 2 || text[end - 1] != '-' || end == *size - compiler_size)
			return false;
		*size = end - 1;
		out->tier = compilers[i].tier;
		return true;
	}
	return false;
}

static void parse_function(struct code_name *out, const char *text, size_t size)
{
	const char *space;
	uint32_t last;

	skip_marks(out, &text, &size);
	out->is_js = true;
	space = cut_wasm(out, text, &size) ? NULL : find_file(text, size);
	if (space) {
		const char *file = space + 1;
		size_t file_size = size - (size_t)(file - text);

		if (cut_number(file, &file_size, &last)) {
			out->line = last;
			if (cut_number(file, &file_size, &out->line))
				out->column = last;
		}
		code_name_set_file(out, file, file_size);
		size = (size_t)(space - text);
	}
	out->name = size ? text : anonymous;
	out->name_size = size ? size : sizeof(anonymous) - 1;
}

/*
 * JavaScriptCore, as in Bun: "JSC-FTL: name#B5Z0Ns", where six letters and digits are a hash of the
 * source; "JSC-Thunk: name".
 */
static bool parse_jsc(struct code_name *out, const char *text, size_t size)
{
	static const struct {
		const char *tag;
		uint8_t tier;
	} kinds[] = {
		{"JSC-Baseline: ", TIER_BASELINE},
		{"JSC-DFG: ", TIER_MIDTIER},
		{"JSC-FTL: ", TIER_OPTIMIZED},
	};
	const size_t hash_size = 7;

	if (!code_name_starts_with(text, size, "JSC-"))
		return false;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		size_t tag_size = strlen(kinds[i].tag);

		if (!code_name_starts_with(text, size, kinds[i].tag))
			continue;
		out->tier = kinds[i].tier;
		out->is_js = true;
		out->name = text + tag_size;
		out->name_size = size - tag_size;
		if (out->name_size >= hash_size && text[size - hash_size] == '#')
			out->name_size -= hash_size;
		if (!out->name_size) {
			out->name = anonymous;
			out->name_size = sizeof(anonymous) - 1;
		}
	}
	return true;
}

/*
 * The form that prof gives to WebAssembly's functions: "Wasm:name wasm://wasm/module". Names and
 * modules may both contain spaces.
 */
static bool parse_wasm(struct code_name *out, const char *text, size_t size)
{
	static const char tag[] = "Wasm:", url[] = " wasm://";
	const size_t url_size = sizeof(url) - 1;

	if (!code_name_starts_with(text, size, tag) || size < sizeof(tag))
		return false;
	out->name = text + sizeof(tag) - 1;
	out->name_size = size - (sizeof(tag) - 1);
	out->tier = TIER_WASM;
	out->is_js = true;
	for (size_t at = out->name_size; at-- > url_size + 1;) {
		const char *file = out->name + at - url_size + 1;

		if (memcmp(file - 1, url, url_size) != 0)
			continue;
		code_name_set_file(out, file, (size_t)(text + size - file));
		out->name_size = at - url_size;
		break;
	}
	return true;
}

static bool parse_name(struct code_name *out, const char *text, size_t size)
{
	for (size_t i = 0; i < sizeof(tags) / sizeof(*tags); i++) {
		size_t tag_size = strlen(tags[i].tag);

		if (!code_name_starts_with(text, size, tags[i].tag))
			continue;
		out->tier = tags[i].tier;
		if (tags[i].is_function)
			parse_function(out, text + tag_size, size - tag_size);
		return true;
	}
	return parse_wasm(out, text, size) || parse_jsc(out, text, size);
}

/* Names a regular expression as V8's own profiler does: "RegExp: pattern". */
static enum code_role translate(const char *name, size_t size, const char *file, size_t file_size,
				struct strbuf *out)
{
	static const char kind[] = "RegExp", source[] = "RegExp.> src: '", flags[] = "' flags: '";
	size_t start = sizeof(kind), end = size;

	if (code_name_starts_with(name, size, "RegExp.")) {
		start = sizeof(source) - 1;
		while (end > start && (size - end < sizeof(flags) - 1 ||
				       memcmp(name + end, flags, sizeof(flags) - 1) != 0))
			end--;
	} else if (!code_name_starts_with(name, size, "RegExp:")) {
		return CODE_OWN;
	}
	strbuf_adds(out, kind);
	if (end > start) {
		strbuf_adds(out, ": ");
		strbuf_add(out, name + start, end - start);
	}
	return CODE_OWN;
}

const struct language language_javascript = {
	.category = {language_title_javascript, "green", tiers},
	.parse_name = parse_name,
	.translate = translate,
	/* Addresses include the ELF header of the file into which a dump is converted. */
	.dump_mark = 0xdeadbeef,
	.dump_line_shift = 0x40,
	.has_own_heap = true,
};
