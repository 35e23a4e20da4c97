/* SPDX-License-Identifier: MIT */
#include "lib/model/languages/language.h"

#include <string.h>

#include "lib/base/text.h"

#define LANGUAGE(NAME, name) [LANGUAGE_##NAME] = &language_##name,
const struct language *const languages[LANGUAGE_COUNT] = {
#include "lib/model/languages/languages.def"
};
#undef LANGUAGE

static bool is_library(const char *name, const char *library)
{
	size_t size = strlen(library);

	return strncmp(name, library, size) == 0 && (library[size - 1] == '-' || !name[size]);
}

enum language_id language_of_library(const char *name)
{
	for (enum language_id i = LANGUAGE_NONE + 1; i < LANGUAGE_COUNT; i++) {
		if (languages[i]->library && is_library(name, languages[i]->library))
			return i;
	}
	return LANGUAGE_NONE;
}

enum language_id language_of_program(const char *name)
{
	for (enum language_id i = LANGUAGE_NONE + 1; i < LANGUAGE_COUNT; i++) {
		if (languages[i]->program && text_starts_with(name, languages[i]->program))
			return i;
	}
	return LANGUAGE_NONE;
}

uint32_t language_dump_line_shift(uint32_t mark)
{
	for (enum language_id i = LANGUAGE_NONE + 1; mark && i < LANGUAGE_COUNT; i++) {
		if (languages[i]->dump_mark == mark)
			return languages[i]->dump_line_shift;
	}
	return 0;
}

bool language_dump_is_path(const char *path)
{
	const char *name = strrchr(path, '/');
	size_t digits;

	name = name ? name + 1 : path;
	if (strncmp(name, "jit-", 4) != 0)
		return false;
	digits = strspn(name + 4, "0123456789");
	name += 4 + digits;
	return digits && (strcmp(name, ".dump") == 0 || strcmp(name, ".dump (deleted)") == 0);
}
