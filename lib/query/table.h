/* SPDX-License-Identifier: MIT */
/* Self and total weight of functions, modules, files, lines, processes … */
#pragma once

#include "lib/query/keys.h"

struct query_row {
	uint32_t key;
	/*
	 * Line of the definition of a script's function; otherwise the line with the most self
	 * weight, then the most total weight, then the lowest number. 0: unknown.
	 */
	uint32_t line;
	uint64_t self; /* weight of samples taken in this key; for threads equal to total */
	uint64_t total; /* weight of samples with the key anywhere in their stack, counted once */
};

/* Weights of a row in latencies, 1/LATENCY_UNIT. */
struct query_latency {
	uint64_t self, total;
};

struct query_table {
	struct query_keys *keys; /* `own`, or borrowed keys */
	struct query_keys own;
	VEC(struct query_row) rows; /* by descending self, then descending total, then key */
	struct query_latency *latencies; /* by key; NULL: the query has none */
};

/* Omits rows without weight. `keys`: NULL, or keys made for the same profile. */
void query_table_make(struct query_table *t, const struct query *q, enum query_by by,
		      struct query_keys *keys);
enum query_order { QUERY_ORDER_SELF, QUERY_ORDER_TOTAL, QUERY_ORDER_LATENCY, QUERY_ORDER_NAME };
/*
 * Changes the order of the rows, which are initially sorted by self weight. QUERY_ORDER_LATENCY: by
 * descending self latency, then total latency; needs latencies.
 */
void query_table_sort(struct query_table *t, enum query_order order);
void query_table_release(struct query_table *t);

/* Returns, by stack_id, the weight of each stack including its callees; the caller frees it. */
uint64_t *query_subtree_weights(const struct query *q);
