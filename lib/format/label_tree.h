/* SPDX-License-Identifier: MIT */
/*
 * Stacks of a profile as a tree of labels, for formats that show nothing else. Processes and
 * threads share common stacks, unless the tree has roots for them. Weights are clock ticks: samples
 * of other events are omitted, because their sum with ticks is meaningless.
 */
#pragma once

#include "lib/model/meaning/categories.h"
#include "lib/model/tables/profile.h"

/* Profiles side by side in a tree. */
#define LABEL_TREE_SIDES 2

/* Row 0 of label_tree.kinds: processes and threads, and unknown code. */
#define LABEL_KIND_NONE 0

/* A category of frames, with the name and colour of front-ends. */
struct label_kind {
	string_id name, color; /* label strings */
};

struct label_node {
	uint64_t weight[LABEL_TREE_SIDES]; /* samples that end in this node, by side */
	stack_id first_child, next_sibling; /* by label; NO_STACK: none */
	uint8_t kind; /* kind of the first frame added */
	bool is_inlined; /* property of the first frame added */
};

/* A node of a profile's stacks below a root of the tree. */
struct label_place {
	stack_id root, stack;
	stack_id node;
};

struct label_tree {
	/* Set before the first profile is added. */
	bool has_threads; /* roots are processes, followed by threads if their names differ */
	bool is_collapsed; /* labels contain no ';' and do not end with a number */

	struct strings labels; /* labels without control characters */
	struct stacks tree; /* frames are labels; a parent has a lower id than its children */
	VEC(struct label_node) nodes; /* by node id in `tree` */
	stack_id first_root; /* set by label_tree_link() */
	uint64_t rootless[LABEL_TREE_SIDES]; /* weight of samples without a node, by side */
	VEC(struct label_kind) kinds;

	/* State of label_tree_add(). */
	const struct profile *profile;
	string_id *frame_labels; /* by frame_id; NO_STRING: not requested yet */
	struct frame_category *frame_categories; /* by frame_id */
	int16_t category_kinds[UINT8_MAX + 1]; /* by category; -1: not requested yet */
	VEC(struct label_place) places;
	struct index place_index;
	VEC(stack_id) path;
};

/* Adds all samples of the clock to one side. */
void label_tree_add(struct label_tree *t, const struct profile *p, int side);
/* Sorts siblings by label. Call once, after the last profile. */
void label_tree_link(struct label_tree *t);
void label_tree_release(struct label_tree *t);
/* Returns the label of a node. Valid until the next profile is added. */
const char *label_tree_text(const struct label_tree *t, stack_id node);
