/* SPDX-License-Identifier: MIT */
/*
 * Data of the views: a profile, what of it counts, and the rows that come of it. Their figures are
 * those of prof report.
 */
#ifndef PROF_CMD_BROWSE_MODEL_H
#define PROF_CMD_BROWSE_MODEL_H

#include <stdbool.h>

#include "cmd/text/query_listing.h"
#include "lib/base/index.h"
#include "lib/query/select.h"
#include "lib/query/table.h"
#include "lib/query/tree.h"

/* Forms of the rows. */
enum model_form {
	MODEL_TABLE,
	MODEL_TREE,
	MODEL_INVERTED,
	MODEL_CALLERS, /* of a function */
};

struct model {
	struct profile *profile; /* borrowed */
	VEC(struct query_filter)
	filters; /* the last is in force; those before can be gone back to */
	VEC(char *) texts; /* of the filters, and of `function`; owned */
	enum model_form form;
	enum query_by by;
	enum query_order order;
	const char *function; /* the one whose callers are shown */
	double min_share; /* of trees */
	struct query query;
	bool has_query;
	struct query_table table; /* of MODEL_TABLE */
	struct query_tree tree; /* of the others */
	VEC(uint32_t) nodes; /* of the tree, that are shown as rows */
	uint64_t *paths; /* by node: hash of the names from the root */
	struct index
		toggled; /* hashes of nodes that are open though light, or closed though heavy */
	VEC(uint64_t) toggled_paths;
};

void model_init(struct model *m);
void model_release(struct model *m);
/* Returns the filter in force. */
struct query_filter *model_filter(struct model *m);
/* Puts a filter in force; its texts are the model's, see model_keep(). */
void model_push(struct model *m, const struct query_filter *filter);
/* Goes back to the filter before. False: there is none. */
bool model_undo(struct model *m);
/* Keeps a copy of a text as long as the model lives. */
const char *model_keep(struct model *m, const char *text);
/* Makes the rows anew, after anything has changed. Errors as query_select(). */
int model_update(struct model *m, struct error *err);

size_t model_count(const struct model *m);
/* Returns a number that the row keeps when rows are made anew. */
uint64_t model_id(const struct model *m, size_t row);
/* Returns the name that is searched for; safe to print is only a copy of it. */
const char *model_name(const struct model *m, size_t row);
uint64_t model_self(const struct model *m, size_t row);
uint64_t model_total(const struct model *m, size_t row);
/* Returns the function of the row, or NULL. */
const char *model_function(const struct model *m, size_t row);
/* Fills a listing with rows from `first` on. */
void model_list(const struct model *m, struct listing *l, size_t first, size_t count);
/* Trees: has the row children, and are they shown? */
bool model_has_children(const struct model *m, size_t row);
bool model_is_open(const struct model *m, size_t row);
/* Opens or closes the row. */
void model_toggle(struct model *m, size_t row);
/* Returns the row of its parent, itself for a root. */
size_t model_parent(const struct model *m, size_t row);
/* Describes a filter as the options of prof report. */
void model_describe(const struct query_filter *filter, struct strbuf *out);

#endif
