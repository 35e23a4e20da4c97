/* SPDX-License-Identifier: MIT */
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

/* QEMU's name of all code that it translates. */
#define QEMU_CODE "code_gen_buffer"

static bool is_text(const char *text, size_t size, const char *wanted)
{
	return strlen(wanted) == size && memcmp(wanted, text, size) == 0;
}

bool code_name_is_function(const char *text, size_t size)
{
	for (enum language_id i = LANGUAGE_NONE + 1; i < LANGUAGE_COUNT; i++) {
		const char *all_code = languages[i]->all_code;

		if (all_code && is_text(text, size, all_code))
			return false;
	}
	return !is_text(text, size, QEMU_CODE);
}

#define LANGUAGE(NAME, name, title) [LANGUAGE_##NAME] = &language_##name,
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
	const char *const digit = "0123456789";
	size_t digits;

	name = name ? name + 1 : path;
	if (strncmp(name, "jit-", 4) != 0)
		return false;
	digits = strspn(name + 4, digit);
	name += 4 + digits;
	/* JavaScriptCore: jit-TID-PID.dump */
	if (digits && *name == '-' && strspn(name + 1, digit))
		name += 1 + strspn(name + 1, digit);
	return digits && (strcmp(name, ".dump") == 0 || strcmp(name, ".dump (deleted)") == 0);
}

/* Languages whose interpreters publish no names of code, unless told to. */

static const char *const tiers[] = {"Other", NULL};
static const char *const tiers_php[] = {"Other", "PHP", "C function", NULL};
static const char *const tiers_ruby[] = {"Other", "Ruby", "C method", NULL};

const struct language language_lua = {
	.category = {language_title_lua, "lightblue", tiers},
	.library = "liblua.so",
};

const struct language language_perl = {
	.category = {language_title_perl, "lightblue", tiers},
	.library = "libperl.so",
};

const struct language language_php = {
	.category = {language_title_php, "purple", tiers_php},
	.library = "libphp.so",
	.has_own_heap = true,
};

const struct language language_r = {
	.category = {language_title_r, "lightblue", tiers},
	.library = "libR.so",
};

const struct language language_ruby = {
	.category = {language_title_ruby, "magenta", tiers_ruby},
	.library = "libruby-",
};
