/* SPDX-License-Identifier: MIT */
/* Names of code as runtimes write them, for each language's parser and for all in turn. */
#include <stdbool.h>
#include <string.h>

#include "lib/model/languages/language.h"
#include "tests/fuzz/input.h"

static bool lies_in(const char *piece, size_t piece_size, const char *text, size_t size)
{
	return piece >= text && piece_size <= size &&
	       piece - text <= (ptrdiff_t)(size - piece_size);
}

static void check(const struct code_name *name, uint8_t language, const char *text, size_t size)
{
	const char *const *tiers = languages[language]->category.subcategories;

	require(name->name_size || !size);
	require(lies_in(name->name, name->name_size, text, size) ||
		strncmp(name->name, "(anonymous)", name->name_size) == 0);
	require(!name->file ||
		(name->file_size && lies_in(name->file, name->file_size, text, size)));
	for (uint8_t tier = 0; tier <= name->tier; tier++)
		require(tiers[tier] != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Ends with the text, so that sanitizers see reads beyond it. */
	char *text = malloc(size + !size);
	struct code_name name;

	memcpy(text, data, size);
	for (uint8_t i = LANGUAGE_NONE + 1; i < LANGUAGE_COUNT; i++) {
		const struct code_name before = {.name = text, .name_size = size};

		name = before;
		if (!languages[i]->parse_name)
			continue;
		if (languages[i]->parse_name(&name, text, size))
			check(&name, i, text, size);
		else
			require(memcmp(&name, &before, sizeof(name)) == 0);
	}
	code_name_parse(&name, text, size);
	if (name.language == LANGUAGE_NONE)
		require(name.name == text && name.name_size == size && !name.file && !name.tier);
	else
		check(&name, name.language, text, size);
	free(text);
	return 0;
}
