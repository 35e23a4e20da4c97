/* SPDX-License-Identifier: MIT */
/* Stacks as a tree of keys, from either end. */
#pragma once

#include "lib/query/keys.h"

enum query_tree_kind {
	QUERY_TREE_PLAIN, /* roots are outermost functions, with callees as children */
	QUERY_TREE_INVERTED, /* roots are sampled functions, with callers as children */
	QUERY_TREE_CALLERS, /* inverted tree of one function, with the weight of all its callees */
	QUERY_TREE_CALLEES, /* tree whose roots are one function */
};

/* Deeper nodes are omitted, and their weight counts for their ancestors. */
#define QUERY_TREE_DEPTH 256

struct query_tree_options {
	enum query_by by; /* must be a key of stacks */
	enum query_tree_kind kind;
	/* Callers and callees: name of the function; `by` must be QUERY_BY_FUNCTION. */
	const char *function;
	double min_share; /* minimum weight of nodes, as a share of all roots' weight */
	struct query_keys *keys; /* keys as for query_table_make() */
};

#define QUERY_NO_NODE UINT32_MAX

struct query_node {
	uint32_t key;
	/* QUERY_NO_NODE: none. Siblings are sorted like table rows. */
	uint32_t parent, first_child, next_sibling;
	uint32_t depth; /* 0 for a root */
	stack_id stack; /* any one of the stacks merged in the node */
	uint64_t self; /* weight of samples taken in the node; 0 in trees of callers */
	uint64_t total;
};

struct query_tree {
	struct query_keys *keys; /* `own`, or borrowed keys */
	struct query_keys own;
	VEC(struct query_node) nodes; /* parents first; light ones have no children */
	/*
	 * From the roots inwards: by stack_id, the node of the stack, or the light one that it is
	 * below; QUERY_NO_NODE if it has no weight. Otherwise NULL.
	 */
	uint32_t *of_stacks;
	uint32_t first_root;
	bool is_cut; /* nodes were left out as too deep or too many */
};

/* A recursive function is entered only at its outermost call, so its weight counts once. */
void query_tree_make(struct query_tree *t, const struct query *q,
		     const struct query_tree_options *options);
void query_tree_release(struct query_tree *t);
/*
 * Returns the next node in display order: the first child, or the next sibling of the node or of an
 * ancestor.
 */
uint32_t query_tree_next(const struct query_tree *t, uint32_t node);
/*
 * For plain trees. Returns the weights of all keys with their callees, by key, in the stacks below
 * a node; in all stacks for QUERY_NO_NODE. The caller frees them.
 */
uint64_t *query_tree_totals(const struct query_tree *t, const struct query *q, uint32_t node);
/*
 * Returns the query's `parents` without those of the outermost calls of a key, so that a tree of
 * them has all these calls as one root. The caller frees them.
 */
stack_id *query_tree_cut(const struct query_tree *t, const struct query *q, uint32_t key);
