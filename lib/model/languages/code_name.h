/* SPDX-License-Identifier: MIT */
/*
 * Names of code in perf maps and jitdumps. Both formats have one free text; runtimes put more into
 * it than a name.
 */
#ifndef PROF_LIB_MODEL_LANGUAGES_CODE_NAME_H
#define PROF_LIB_MODEL_LANGUAGES_CODE_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Pieces of the text that was parsed, or constants; not terminated. */
struct code_name {
	const char *name;
	size_t name_size;
	const char *file; /* NULL: unknown */
	size_t file_size;
	uint32_t line, column; /* of the definition, 0: unknown */
	uint8_t language; /* enum language_id */
	uint8_t tier; /* a row of the language's tiers */
	bool is_js; /* a function of a script, not a part of what runs it */
};

/* Any bytes; text that is in no language's form is a name as it stands. */
void code_name_parse(struct code_name *out, const char *text, size_t size);

/* For parsers. */

bool code_name_starts_with(const char *text, size_t size, const char *prefix);
/* Sets the file, without the scheme "file://"; an empty one is unknown. */
void code_name_set_file(struct code_name *out, const char *file, size_t size);

#endif
