/* SPDX-License-Identifier: MIT */
/*
 * Data of the views: a profile, its filters, and the resulting rows. Figures equal those of prof
 * report.
 */
#pragma once

#include "cmd/text/query_listing.h"
#include "lib/query/select.h"
#include "lib/query/table.h"
#include "lib/query/tree.h"

/* Forms of presentation. */
enum model_form {
	MODEL_TABLE,
	MODEL_TREE,
	MODEL_INVERTED,
	MODEL_CALLERS, /* callers of a function */
};

struct model {
	struct profile *profile; /* borrowed */
	VEC(struct query_filter)
	filters; /* strings of the filters and of `function`; owned */
	VEC(char *) texts; /* strings of the filters and of `function`; owned */
	enum model_form form;
	enum query_by by;
	enum query_order order;
	const char *function; /* function whose callers are shown */
	double min_share; /* minimum share of nodes in trees */
	struct query query;
	bool has_query;
	struct query_table table; /* for MODEL_TABLE */
	struct query_tree tree; /* for all other kinds */
	VEC(uint32_t) nodes; /* tree nodes shown as rows */
	uint64_t *paths; /* by node: hash of the names on the path from the root */
	struct index toggled; /* path hashes of light nodes that are open, and of heavy nodes that
				 are closed */
	VEC(uint64_t) toggled_paths;
};

void model_init(struct model *m);
void model_release(struct model *m);
/* Returns the active filter. */
struct query_filter *model_filter(struct model *m);
/* Activates a filter. Its strings must belong to the model, see model_keep(). */
void model_push(struct model *m, const struct query_filter *filter);
/* Restores the previous filter. False if there is none. */
bool model_undo(struct model *m);
/* Returns a copy of the text that lives as long as the model. */
const char *model_keep(struct model *m, const char *text);
/* Rebuilds the rows after any change. Returns the same errors as query_select(). */
int model_update(struct model *m, struct error *err);

size_t model_count(const struct model *m);
/* Returns a number that identifies the row across rebuilds. */
uint64_t model_id(const struct model *m, size_t row);
/* Returns the name that searches match. It is untrusted: escape a copy before printing. */
const char *model_name(const struct model *m, size_t row);
uint64_t model_self(const struct model *m, size_t row);
uint64_t model_total(const struct model *m, size_t row);
/* Returns the function of the row, or NULL. */
const char *model_function(const struct model *m, size_t row);
/* Fills a listing with rows, beginning with `first`. */
void model_list(const struct model *m, struct listing *l, size_t first, size_t count);
/* Return whether a row of a tree has children, and whether they are shown. */
bool model_has_children(const struct model *m, size_t row);
bool model_is_open(const struct model *m, size_t row);
/* Opens or closes the row. */
void model_toggle(struct model *m, size_t row);
/* Returns the row of its parent; a root is its own. */
size_t model_parent(const struct model *m, size_t row);
/* Formats a filter as options of prof report. */
void model_describe(const struct query_filter *filter, struct strbuf *out);
