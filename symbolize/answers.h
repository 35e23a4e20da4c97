/* SPDX-License-Identifier: MIT */
/*
 * The combined answers of all symbolizers about some addresses of one module, in a form that needs
 * neither them nor the profile. A worker makes them independently of others; they enter the profile
 * later, in an order that does not depend on which worker was first.
 */
#ifndef PROF_SYMBOLIZE_ANSWERS_H
#define PROF_SYMBOLIZE_ANSWERS_H

#include "lib/model/tables/expand_inlines.h"
#include "symbolize/address_index.h"
#include "symbolize/symbolizer.h"
#include "symbolize/string_pool.h"

/* A function of a chain, outermost first. */
struct named_level {
	uint32_t func, file; /* in texts, or NO_TEXT */
	uint32_t line; /* 0: unknown */
	bool is_named; /* func is a real name, not made up */
};

/* An address about which something is known. */
struct named {
	uint64_t func_start, func_size; /* RVA and bytes of the symbol, size 0: unknown */
	size_t first_level; /* in levels */
	uint32_t depth;
	/*
	 * First place with this address among those asked for. Places are frames: 32 bits suffice.
	 */
	uint32_t place, place_count;
	bool has_symbol;
};

/* A zeroed struct is empty. */
struct answers {
	VEC(struct named) rows;
	VEC(struct named_level) levels;
	struct string_pool funcs, files;
	enum symbol_reason reason; /* why the module has no names or lines */
	char *debug_path; /* of the file with its debug information if not its own; or NULL */
};

/* Copies the answer for places[first … first + count), which have the same address. */
void answers_add(struct answers *n, const struct answer *answer, size_t first, size_t count);
/* Ends adding: the symbolizers that gave the answers may be freed now. */
void answers_seal(struct answers *n);
/*
 * Enters the answers into the profile. The rows count from `places`; `module` is theirs, or
 * NO_MODULE.
 */
void answers_apply(struct answers *n, module_id module, const struct place *places,
		   struct profile *p, struct expand_inlines *expand);
void answers_release(struct answers *n);

#endif
