/* SPDX-License-Identifier: MIT */
/* Self and total weight of functions, modules, files, lines, processes … */
#ifndef PROF_LIB_QUERY_TABLE_H
#define PROF_LIB_QUERY_TABLE_H

#include "lib/query/keys.h"

struct query_row {
	uint32_t key;
	/*
	 * Of a function, its own line where the profile has that; else the one with the most self
	 * weight, then the most total, then the lowest. 0: unknown.
	 */
	uint32_t line;
	uint64_t self; /* of samples that were taken there; of threads, the same as total */
	uint64_t total; /* of samples with it anywhere in their stack, where it counts once */
};

struct query_table {
	struct query_keys keys;
	VEC(struct query_row) rows; /* by self, then total, both descending, then by their keys */
};

/* Rows without any weight are left out. */
void query_table_make(struct query_table *t, const struct query *q, enum query_by by);
void query_table_release(struct query_table *t);

/* Weight of each stack with all that it has called, by stack_id; to be freed. */
uint64_t *query_subtree_weights(const struct query *q);

#endif
