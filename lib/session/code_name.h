/* SPDX-License-Identifier: MIT */
/*
 * What perf maps and jitdumps call their code. The format has one free text; compilers put more
 * into it than a name:
 *
 *	V8	JS:*name /path/file.js:12:3	(older: LazyCompile:, Function:), Builtin:Name
 *	CPython	py::name:/path/file.py
 */
#ifndef PROF_LIB_SESSION_CODE_NAME_H
#define PROF_LIB_SESSION_CODE_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/profile/frames.h"

/* Pieces of the text that was parsed, or constants; not terminated. */
struct code_name {
	const char *name;
	size_t name_size;
	const char *file; /* NULL: unknown */
	size_t file_size;
	uint32_t line, column; /* of the definition, 0: unknown */
	uint8_t language; /* enum code_language */
	uint8_t tier; /* a subcategory of the language's category */
	bool is_js; /* a function of a script, not a part of what runs it */
};

/* Any bytes; what is in none of the forms is a name as it stands. */
void code_name_parse(struct code_name *out, const char *text, size_t size);

#endif
