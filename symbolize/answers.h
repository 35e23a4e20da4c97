/* SPDX-License-Identifier: MIT */
/*
 * What all symbolizers together say about some addresses of one module, in a form that needs
 * neither them nor the profile: it is made in a worker, whatever others do, and put into the
 * profile later, in an order that does not depend on who was first.
 */
#ifndef PROF_SYMBOLIZE_ANSWERS_H
#define PROF_SYMBOLIZE_ANSWERS_H

#include "lib/profile/expand_inlines.h"
#include "symbolize/address_index.h"
#include "symbolize/symbolizer.h"
#include "symbolize/string_pool.h"

/* A function of a chain, outermost first. */
struct named_level {
	uint32_t func, file; /* in texts, or NO_TEXT */
	uint32_t line; /* 0: unknown */
	bool is_named; /* func is a real name and not made up */
};

/* An address that somebody knows something about. */
struct named {
	uint64_t func_start, func_size; /* RVA and bytes of the symbol, size 0: unknown */
	size_t first_level; /* in levels */
	uint32_t depth;
	/* The first one with this address, among those that were asked for: frames, of 32 bits. */
	uint32_t place, place_count;
	bool has_symbol;
};

/* A zeroed struct is empty. */
struct answers {
	VEC(struct named) rows;
	VEC(struct named_level) levels;
	struct string_pool funcs, files;
	enum symbol_reason reason; /* why the module has no names or lines */
	char *debug_path; /* where its debug information is, if not in itself; or NULL */
};

/* Copies what is known about places[first … first + count), which have the same address. */
void answers_add(struct answers *n, const struct answer *answer, size_t first, size_t count);
/* The answers' owners may be freed now; nothing is added any more. */
void answers_seal(struct answers *n);
/* `places` are those that the rows count from, `module` theirs, or NO_MODULE. */
void answers_apply(struct answers *n, module_id module, const struct place *places,
		   struct profile *p, struct expand_inlines *expand);
void answers_release(struct answers *n);

#endif
