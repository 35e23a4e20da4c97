/* SPDX-License-Identifier: MIT */
/* Results of queries as rows to print, for display or machine-readable. */
#pragma once

#include "cmd/options/report_options.h"
#include "cmd/text/listing.h"
#include "lib/query/table.h"
#include "lib/query/tree.h"

/* All three return the number of rows omitted because of the limit. */
size_t query_listing_table(struct listing *l, const struct query *q, const struct query_table *t,
			   const struct query_listing_options *options);
size_t query_listing_tree(struct listing *l, const struct query *q, const struct query_tree *t,
			  const struct query_listing_options *options);
/* Lists weights and latencies by the number of threads that ran at a time. */
size_t query_listing_parallelism(struct listing *l, const struct query *q,
				 const struct query_listing_options *options);

/* Lists the given nodes of a tree in that order. */
void query_listing_nodes(struct listing *l, const struct query *q, const struct query_tree *t,
			 const uint32_t *nodes, size_t count,
			 const struct query_listing_options *options);

/*
 * Returns "file.c:12", without folders, and without the line if it is 0; NULL if no file is known.
 */
char *query_listing_place(const struct query_keys *keys, uint32_t key, uint32_t line);
/* Returns a weight in the unit of the options, with its sampling error if they request it. */
char *query_listing_weight(const struct query *q, const struct query_listing_options *options,
			   uint64_t weight);

/*
 * Columns and cells of weight common to all such listings: two for display, four if
 * machine-readable.
 */
void query_listing_add_weight_columns(struct listing *l,
				      const struct query_listing_options *options);
void query_listing_add_weights(struct listing *l, const struct query *q,
			       const struct query_listing_options *options, uint64_t self,
			       uint64_t total);

/* Markers as rows to print, in order of start. */

/*
 * Lists markers of the filter's threads that overlap its time. Returns the number omitted because
 * of the limit.
 */
size_t marker_listing(struct listing *l, const struct profile *p, const struct query_filter *filter,
		      const struct query_listing_options *options);
