/* SPDX-License-Identifier: MIT */
/* Functions of machine code, and the weights of their instructions. */
#pragma once

#include "lib/query/select.h"

/* An address with frames, at the start of an instruction or within it. */
struct code_place {
	uint64_t rva, self, total;
	uint64_t stamp; /* number of the last stack counted in the total */
};

/* A function in machine code, including the functions inlined into it. */
struct code_places {
	symbol_id symbol;
	uint64_t total; /* at most the sum of all places */
	VEC(struct code_place) list; /* in ascending order */
};

struct code_functions {
	VEC(struct code_places) list; /* functions with weight only, heaviest first */
};

void code_functions_find(struct code_functions *f, const struct query *q, const char *function);
/* Finds the functions into which a function with that name is inlined. */
void code_functions_find_callers(struct code_functions *f, const struct query *q,
				 const char *function);
/*
 * Finds the functions with the most samples of their own, at most `count`. Their places have no
 * weights; totals are of these samples.
 */
void code_functions_find_heaviest(struct code_functions *f, const struct query *q, size_t count);
void code_functions_release(struct code_functions *f);
/*
 * Returns the function's size in bytes. If unknown, the function ends a little after its last
 * place.
 */
uint64_t code_places_size(const struct code_places *places, const struct profile *p);
