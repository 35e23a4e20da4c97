/* SPDX-License-Identifier: MIT */
/*
 * Languages whose compilers run inside the program: how their code is shown and named, and how it
 * is recognized. A language is one file and one row of languages.def.
 */
#ifndef PROF_LIB_MODEL_LANGUAGES_LANGUAGE_H
#define PROF_LIB_MODEL_LANGUAGES_LANGUAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Names of code in perf maps and jitdumps. Both formats have one free text; runtimes put more into
 * it than a name.
 */

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

enum language_id {
	LANGUAGE_NONE, /* any other or unknown */
#define LANGUAGE(NAME, name) LANGUAGE_##NAME,
#include "lib/model/languages/languages.def"
#undef LANGUAGE
	LANGUAGE_COUNT,
};

/* A category of frames in a profile. */
struct category_row {
	const char *name;
	const char *color; /* one of the front-end's */
	const char *const *subcategories; /* NULL-terminated; the first is "Other" */
};

struct language {
	struct category_row category; /* its subcategories are the tiers of the runtime */
	/*
	 * Parses any bytes. Returns false, without a change, if the text does not have the
	 * language's form. *out holds the whole text as name; sets the tier and other members that
	 * the text has. NULL if names say nothing.
	 */
	bool (*parse_name)(struct code_name *out, const char *text, size_t size);
	/*
	 * File name of the runtime's library, if names tell nothing; else NULL. One that ends with
	 * "-" is only the beginning, before a version.
	 */
	const char *library;
	/*
	 * Beginning of the names of programs that are the runtime; `remedy` says how to get names
	 * of its code. NULL: there is no way, or none without other code in its place.
	 */
	const char *program, *remedy;
	/*
	 * Value of the header field that the jitdump format leaves unused, and what the runtime
	 * adds to addresses in lines. A mark of 0: none.
	 */
	uint32_t dump_mark, dump_line_shift;
	/*
	 * The subcategory of frames whose thread held the interpreter's lock; the next one is that
	 * of others. 0: no lock.
	 */
	uint8_t lock_tier;
};

#define LANGUAGE(NAME, name) extern const struct language language_##name;
#include "lib/model/languages/languages.def"
#undef LANGUAGE

/* By enum language_id; LANGUAGE_NONE has no row. */
extern const struct language *const languages[LANGUAGE_COUNT];

/* Looks up the name of a mapped file, without folders; LANGUAGE_NONE: no runtime. */
enum language_id language_of_library(const char *name);
/* Looks up the name of a process; LANGUAGE_NONE: no known runtime. */
enum language_id language_of_program(const char *name);
/* Returns the number to subtract from addresses in the lines of a jitdump. */
uint32_t language_dump_line_shift(uint32_t mark);
/* Is it the path of a jitdump, by its name? */
bool language_dump_is_path(const char *path);

#endif
