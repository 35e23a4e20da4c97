/* SPDX-License-Identifier: MIT */
/*
 * Languages whose compilers run with the program: how their code is shown, how it is called, and by
 * what it is known. A language is one file and one row of languages.def.
 */
#ifndef PROF_LIB_LANGUAGES_LANGUAGE_H
#define PROF_LIB_LANGUAGES_LANGUAGE_H

#include "lib/languages/code_name.h"

enum language_id {
	LANGUAGE_NONE, /* any other, or not known */
#define LANGUAGE(NAME, name) LANGUAGE_##NAME,
#include "lib/languages/languages.def"
#undef LANGUAGE
	LANGUAGE_COUNT,
};

/* A category of frames as profiles have it. */
struct category_row {
	const char *name;
	const char *color; /* one of the front-end's */
	const char *const *subcategories; /* NULL-terminated; the first is "Other" */
};

struct language {
	struct category_row category; /* its subcategories are the tiers of the runtime */
	/*
	 * Any bytes. False, without a change: the text has not the language's form. Sets a tier,
	 * and of the rest what the text tells besides the name, which is the whole text before.
	 * NULL: names do not tell.
	 */
	bool (*parse_name)(struct code_name *out, const char *text, size_t size);
	/* The file name of the runtime where it is a library and names do not tell; else NULL. */
	const char *library;
	/* Program names begin with `program` where that is the runtime; `remedy` names its code. */
	const char *program, *remedy;
	/*
	 * The field of a jitdump's header that the format leaves unused, and what the runtime adds
	 * to addresses in the dump's lines. A mark of 0 is none.
	 */
	uint32_t dump_mark, dump_line_shift;
};

#define LANGUAGE(NAME, name) extern const struct language language_##name;
#include "lib/languages/languages.def"
#undef LANGUAGE

/* By enum language_id; LANGUAGE_NONE has no row. */
extern const struct language *const languages[LANGUAGE_COUNT];

/* By the name of a mapped file, without folders; LANGUAGE_NONE: no runtime. */
enum language_id language_of_library(const char *name);
/* By the name of a process; LANGUAGE_NONE: no runtime that is known by its program. */
enum language_id language_of_program(const char *name);
/* Returns the number to subtract from addresses in the lines of a jitdump. */
uint32_t language_dump_line_shift(uint32_t mark);

#endif
