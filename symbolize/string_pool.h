/* SPDX-License-Identifier: MIT */
/*
 * What symbolizers say, copied before they are freed: each text once, readable, and interned in the
 * profile only when it is used there. Symbolizers give the same pointer for the same text.
 */
#ifndef PROF_SYMBOLIZE_STRING_POOL_H
#define PROF_SYMBOLIZE_STRING_POOL_H

#include <stdbool.h>

#include "lib/base/index.h"
#include "lib/base/strbuf.h"
#include "lib/profile/strings.h"
#include "symbolize/arena.h"

#define NO_TEXT UINT32_MAX

struct text {
	const void *source; /* as the symbolizer gave it; only an identity once that is freed */
	const char *text; /* the arena's, terminated */
	uint32_t size;
	string_id id; /* NO_STRING until it is interned */
};

/* A zeroed struct is empty. */
struct texts {
	VEC(struct text) rows;
	struct index index;
	struct arena arena;
	struct strbuf readable;
	bool is_mangled; /* names of functions, which may be */
};

/* The number of a text; NO_TEXT for NULL. */
uint32_t texts_add(struct texts *t, const char *text);
/* Sources may be freed now; nothing is added any more. */
void texts_seal(struct texts *t);
/* NO_STRING for NO_TEXT. */
string_id texts_intern(struct texts *t, uint32_t number, struct strings *strings);
void texts_release(struct texts *t);

#endif
