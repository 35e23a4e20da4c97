/* SPDX-License-Identifier: MIT */
/*
 * Texts from symbolizers, copied before those are freed: each text once, demangled, and interned in
 * the profile only when used there. Symbolizers give the same pointer for the same text.
 */
#ifndef PROF_SYMBOLIZE_STRING_POOL_H
#define PROF_SYMBOLIZE_STRING_POOL_H

#include <stdbool.h>

#include "lib/base/index.h"
#include "lib/base/strbuf.h"
#include "lib/model/tables/strings.h"
#include "symbolize/arena.h"

#define NO_TEXT UINT32_MAX

struct text {
	const void *source; /* the symbolizer's pointer; only an identity once that is freed */
	const char *text; /* the arena's, terminated */
	uint32_t size;
	string_id id; /* NO_STRING until it is interned */
};

/* A zeroed struct is empty. */
struct string_pool {
	VEC(struct text) rows;
	struct index index;
	struct arena arena;
	struct strbuf readable;
	bool is_mangled; /* texts are names of functions, which may be mangled */
};

/* Returns the number of a text; NO_TEXT for NULL. */
uint32_t string_pool_add(struct string_pool *t, const char *text);
/* Ends adding: the sources may be freed now. */
void string_pool_seal(struct string_pool *t);
/* NO_STRING for NO_TEXT. */
string_id string_pool_intern(struct string_pool *t, uint32_t number, struct strings *strings);
void string_pool_release(struct string_pool *t);

#endif
