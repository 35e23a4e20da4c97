/* SPDX-License-Identifier: MIT */
#include "lib/model/languages/language.h"

/*
 * .NET: "int32 [Assembly] Space.Class::Method(int32)[OptimizedTier1]", and "stub<12> Kind" for code
 * of the runtime itself
 */

enum tier { TIER_OTHER, TIER_PRECOMPILED, TIER_QUICK, TIER_OPTIMIZED, TIER_STUB, TIER_COUNT };

static const char *const tiers[TIER_COUNT + 1] = {
	[TIER_OTHER] = "Other", [TIER_PRECOMPILED] = "Precompiled",
	[TIER_QUICK] = "Quick", [TIER_OPTIMIZED] = "Optimized",
	[TIER_STUB] = "Stub",
};

static const char *find(const char *text, const char *end, const char *part)
{
	return text < end ? memmem(text, (size_t)(end - text), part, strlen(part)) : NULL;
}

/* "stub<12> Kind" → "Kind": the number is only the order of creation. */
static bool parse_stub(struct code_name *out, const char *text, const char *end)
{
	static const char tag[] = "stub<";
	const char *name = text + sizeof(tag) - 1;

	if (!code_name_starts_with(text, (size_t)(end - text), tag))
		return false;
	while (name < end && *name >= '0' && *name <= '9')
		name++;
	if (end - name < 3 || name[0] != '>' || name[1] != ' ')
		return false;
	out->name = name + 2;
	out->name_size = (size_t)(end - out->name);
	out->tier = TIER_STUB;
	return true;
}

static uint8_t tier_of(const char *text, const char *end)
{
	static const struct {
		const char *part;
		uint8_t tier;
	} parts[] = {
		{"[Optimized", TIER_OPTIMIZED}, {"[QuickJitted", TIER_QUICK},
		{"[Instrumented", TIER_QUICK},	{"[MinOpt", TIER_QUICK},
		{"[PreJIT", TIER_PRECOMPILED},	{"[ReadyToRun", TIER_PRECOMPILED},
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		if (find(text, end, parts[i].part) == text)
			return parts[i].tier;
	}
	return TIER_OTHER;
}

static bool parse_name(struct code_name *out, const char *text, size_t size)
{
	const char *end = text + size, *assembly = find(text, end, " ["), *name, *scope, *open;
	const char *close;

	if (parse_stub(out, text, end))
		return true;
	name = assembly ? find(assembly, end, "] ") : NULL;
	scope = name ? find(name + 2, end, "::") : NULL;
	open = scope ? find(scope, end, "(") : NULL;
	close = open ? memrchr(open, ')', (size_t)(end - open)) : NULL;
	if (!close || scope == name + 2 || open == scope + 2)
		return false;
	out->name = name + 2;
	out->name_size = (size_t)(open - out->name);
	out->tier = tier_of(close + 1, end);
	code_name_set_file(out, assembly + 2, (size_t)(name - assembly - 2));
	return true;
}

/* "Space.Class::Method" → "Space.Class.Method" */
static enum code_role translate(const char *name, size_t size, const char *file, size_t file_size,
				struct strbuf *out)
{
	const char *scope = find(name, name + size, "::");

	if (!scope)
		return CODE_OWN;
	strbuf_add(out, name, (size_t)(scope - name));
	strbuf_addch(out, '.');
	strbuf_add(out, scope + 2, size - (size_t)(scope + 2 - name));
	return CODE_OWN;
}

const struct language language_dotnet = {
	.category = {language_title_dotnet, "lightblue", tiers},
	.parse_name = parse_name,
	.translate = translate,
	.has_own_heap = true,
};
