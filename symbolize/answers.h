/* SPDX-License-Identifier: MIT */
/*
 * The combined answers of all symbolizers for some addresses of one module, independent of
 * symbolizers and profile. A worker makes them in parallel with others; they are applied to the
 * profile later, in a fixed order.
 */
#pragma once

#include "lib/model/tables/expand_inlines.h"
#include "lib/model/tables/profile.h"
#include "lib/model/tables/strings.h"
#include "symbolize/symbolizer.h"
#include "lib/base/base.h"

/* Memory that lives until the whole arena is released: names and chains of a symbolizer. */
struct arena {
	VEC(char *) blocks;
	size_t used, size; /* use and size of the last block */
};

/* Aligned to 8 bytes. */
void *arena_alloc(struct arena *a, size_t size);
char *arena_strndup(struct arena *a, const char *text, size_t size);
void arena_release(struct arena *a);

/* The frames of a profile, by module, and within a module by address. */

struct place {
	uint64_t rva;
	frame_id frame;
};

/*
 * Groups stored consecutively: group i belongs to module i; the last one holds the frames outside
 * of all modules.
 */
struct address_index {
	struct place *rows; /* sorted by address within each group */
	size_t *ends; /* end of each group in `rows` */
	size_t group_count;
};

/* Collects the frames of the profile that can be named. */
void address_index_collect(struct address_index *index, struct profile *p);
void address_index_release(struct address_index *index);
/* Returns the number of different addresses among `count` sorted places. */
size_t address_index_count_distinct(const struct place *places, size_t count);

/*
 * Strings of symbolizers, copied before these are freed: each string once, demangled, and interned
 * in the profile only when used there. Symbolizers return the same pointer for the same string.
 */

#define NO_TEXT UINT32_MAX

struct text {
	/* pointer from the symbolizer; only an identity after the symbolizer is freed */
	const void *source;
	const char *text; /* NUL-terminated, owned by the arena */
	uint32_t size;
	string_id id; /* NO_STRING: not interned yet */
};

/* A zeroed struct is empty. */
struct string_pool {
	VEC(struct text) rows;
	struct index index;
	struct arena arena;
	struct strbuf readable;
	bool is_mangled; /* the strings are function names that may be mangled */
};

/* A function of a chain, outermost first. */
struct named_level {
	uint32_t func, file; /* rows of strings, or NO_TEXT */
	uint32_t line, start_line; /* 0: unknown */
	bool is_named; /* func is a real name, not a synthetic one */
};

/* An address with an answer. */
struct named {
	uint64_t func_start, func_size; /* RVA and size of the symbol; size 0: unknown */
	size_t first_level; /* index of the first level in `levels` */
	uint32_t depth;
	/* First place with this address in the request. Places are frames: 32 bits suffice. */
	uint32_t place, place_count;
	bool has_symbol;
};

/* A zeroed struct is empty. */
struct answers {
	VEC(struct named) rows;
	VEC(struct named_level) levels;
	struct string_pool funcs, files;
	enum symbol_reason reason; /* why the module lacks names or lines */
	bool has_symbols; /* the module's own file has its local symbols */
	char *debug_path; /* separate file with the debug information; NULL: none */
};

/* Copies the answer for places[first … first + count), which have the same address. */
void answers_add(struct answers *n, const struct answer *answer, size_t first, size_t count);
/* Ends adding: the symbolizers of the answers may be freed now. */
void answers_seal(struct answers *n);
/*
 * Enters the answers into the profile. Their rows count from `places`; `module` is theirs, or
 * NO_MODULE.
 */
void answers_apply(struct answers *n, module_id module, const struct place *places,
		   struct profile *p, struct expand_inlines *expand);
void answers_release(struct answers *n);
