/* SPDX-License-Identifier: MIT */
/* Names of users and machines, replaced wherever they stand in a text. */
#ifndef PROF_LIB_QUERY_SANITIZE_PRIVATE_WORDS_H
#define PROF_LIB_QUERY_SANITIZE_PRIVATE_WORDS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/strbuf.h"
#include "lib/base/vec.h"

enum private_kind {
	PRIVATE_USER,
	PRIVATE_HOST,
	PRIVATE_KIND_COUNT,
};

struct private_word {
	char *text; /* in lower case; owned */
	size_t size;
	enum private_kind kind;
	char *becomes; /* owned */
};

struct private_words {
	VEC(struct private_word) rows;
	bool begins[PRIVATE_KIND_COUNT][256]; /* a word of that kind, by byte in lower case */
};

void private_words_release(struct private_words *w);
/*
 * Adds a name. `becomes` NULL: "user" or "host". Ignored: names that many systems have ("root",
 * "ubuntu"), and single letters.
 */
void private_words_add(struct private_words *w, enum private_kind kind, const char *text,
		       size_t size, const char *becomes);
/*
 * Appends the text with names of the wanted kinds replaced, and counts them. Case does not matter.
 * Long names are found anywhere, short ones only where words and parts of words begin and end, as
 * in "bob_main", "startBob" and "libbob".
 */
void private_words_replace(const struct private_words *w, const bool wanted[PRIVATE_KIND_COUNT],
			   struct strbuf *out, const char *text, size_t size,
			   uint64_t counts[PRIVATE_KIND_COUNT]);

#endif
