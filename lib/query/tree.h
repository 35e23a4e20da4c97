/* SPDX-License-Identifier: MIT */
/* Stacks as a tree of keys, from either end. */
#ifndef PROF_LIB_QUERY_TREE_H
#define PROF_LIB_QUERY_TREE_H

#include "lib/query/keys.h"

enum query_tree_kind {
	QUERY_TREE_PLAIN, /* roots are what was called first; children are what they call */
	QUERY_TREE_INVERTED, /* roots are where samples were taken; children are their callers */
	QUERY_TREE_CALLERS, /* the same of one function, with all that it calls */
	QUERY_TREE_CALLEES, /* roots are one function */
};

/* Deeper nodes are left out. Their weight is in those that stay. */
#define QUERY_TREE_DEPTH 256

struct query_tree_options {
	enum query_by by; /* one that has stacks */
	enum query_tree_kind kind;
	const char *function; /* of callers and callees: its name; by function then */
	uint64_t min_weight; /* nodes below are left out */
};

#define QUERY_NO_NODE UINT32_MAX

struct query_node {
	uint32_t key;
	uint32_t parent, first_child,
		next_sibling; /* or QUERY_NO_NODE; siblings as rows of tables */
	uint32_t depth; /* 0: a root */
	uint64_t self; /* samples taken there; of callers 0 */
	uint64_t total;
};

struct query_tree {
	struct query_keys keys;
	VEC(struct query_node) nodes; /* parents come first */
	uint32_t first_root;
	bool is_cut; /* nodes are too deep, or too many */
};

/*
 * A function that is its own caller, directly or not, is taken where it was called first: what it
 * weighs counts once.
 */
void query_tree_make(struct query_tree *t, const struct query *q,
		     const struct query_tree_options *options);
void query_tree_release(struct query_tree *t);
/* The node that is shown next: its first child, its sibling, or that of one it is in. */
uint32_t query_tree_next(const struct query_tree *t, uint32_t node);

#endif
