/* SPDX-License-Identifier: MIT */
/*
 * Languages with a compiler inside the program: how their code is recognized, named and displayed.
 * A language is one file and one row of languages.def.
 */
#pragma once

#include "lib/base/base.h"

struct strbuf;

/*
 * Names of code in perf maps and jitdumps. Both formats have one free-form text, which runtimes use
 * for more than a name.
 */

/* Parts of the parsed text, or constants; not terminated. */
struct code_name {
	const char *name;
	size_t name_size;
	const char *file; /* NULL: unknown */
	size_t file_size;
	uint32_t line, column; /* position of the definition; 0: unknown */
	uint8_t language; /* enum language_id */
	uint8_t tier; /* index into the language's tiers */
	bool is_js; /* a function of a script, not part of the engine */
};

/* Accepts any bytes; text in no language's form becomes the name unchanged. */
void code_name_parse(struct code_name *out, const char *text, size_t size);

/* Returns false if a compiler gives this name to all its code, whatever the function. */
bool code_name_is_function(const char *text, size_t size);

/* For parsers. */

bool code_name_starts_with(const char *text, size_t size, const char *prefix);
/* Sets the file, without the scheme "file://"; an empty one is unknown. */
void code_name_set_file(struct code_name *out, const char *file, size_t size);

enum language_id {
	LANGUAGE_NONE, /* any other or unknown */
#define LANGUAGE(NAME, name, title) LANGUAGE_##NAME,
#include "lib/model/languages/languages.def"
#undef LANGUAGE
	LANGUAGE_COUNT,
};

/* Display of a frame of a runtime's function. */
enum code_role {
	CODE_OWN,
	CODE_ENTRY, /* hidden if it leads to code of a function with the same name */
	CODE_MACHINERY, /* hidden if it leads to a function of the runtime */
};

struct strbuf;

/* A category of frames in a profile. */
struct category_row {
	const char *name;
	const char *color; /* one of the front-end's colours */
	const char *const *subcategories; /* NULL-terminated; the first is "Other" */
};

struct language {
	struct category_row category; /* its subcategories are the tiers of the runtime */
	/*
	 * Parses any bytes. Returns false and changes nothing if the text does not have the
	 * language's form. *out has the whole text as name; the parser sets the tier and other
	 * members found in the text. NULL if names carry no information.
	 */
	bool (*parse_name)(struct code_name *out, const char *text, size_t size);
	const char *all_code; /* name that a compiler gives to all its code; NULL: none */
	/*
	 * Appends to an empty text the source-level name of a function, given its name in the
	 * runtime; nothing if both are the same. `file` has no bytes if it is unknown. NULL if both
	 * are always the same.
	 */
	enum code_role (*translate)(const char *name, size_t size, const char *file,
				    size_t file_size, struct strbuf *out);
	/*
	 * File name of the runtime's library, for languages whose names cannot be recognized; else
	 * NULL. One that ends with "-" is a prefix, before a version.
	 */
	const char *library;
	/*
	 * Value of a jitdump header field that the format leaves unused, and the offset that the
	 * runtime adds to addresses in lines. A mark of 0: none.
	 */
	uint32_t dump_mark, dump_line_shift;
	/*
	 * Subcategory of frames whose thread held the interpreter's lock; the next one is for
	 * frames whose thread did not. 0: no lock.
	 */
	uint8_t lock_tier;
	/* The runtime takes memory for its objects from the kernel, without malloc(). */
	bool has_own_heap;
	/* Variable of the environment with which, set to "malloc", it uses that; NULL: none. */
	const char *heap_variable;
};

#define LANGUAGE(NAME, name, title) \
	extern const struct language language_##name; \
	static const char language_title_##name[] = title;
#include "lib/model/languages/languages.def"
#undef LANGUAGE

/* By enum language_id; LANGUAGE_NONE has no row. */
extern const struct language *const languages[LANGUAGE_COUNT];

/* Looks up the name of a mapped file, without folders; LANGUAGE_NONE: no runtime. */
enum language_id language_of_library(const char *name);
/* Returns the number to subtract from addresses in the lines of a jitdump. */
uint32_t language_dump_line_shift(uint32_t mark);
/* True if the path is named like a jitdump. */
bool language_dump_is_path(const char *path);
