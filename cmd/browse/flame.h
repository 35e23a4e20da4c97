/* SPDX-License-Identifier: MIT */
/*
 * A tree as a flame graph of characters, root first: one level per line, or two with half blocks.
 */
#pragma once

#include "cmd/browse/model.h"

struct flame_box {
	uint32_t node;
	int level, column, width; /* position on the screen, in characters */
};

struct flame {
	VEC(struct flame_box) boxes; /* parents before children */
	size_t cursor; /* index of a box */
	uint64_t cursor_path, zoom_path; /* path hashes as in struct model; 0: none */
	uint32_t zoom; /* node; QUERY_NO_NODE: the whole tree */
	int top; /* first level on the screen */
	int levels; /* number of levels */
	int line, height, columns; /* position and size on the screen */
	bool is_dense; /* drawn with half blocks, without names */
};

/* Lays out the model's tree. */
void flame_make(struct flame *f, const struct model *m, int columns);
void flame_draw(struct flame *f, const struct model *m, int line, int height);
/* Handles a key. Returns false for keys that flame graphs do not use. */
bool flame_key(struct flame *f, const struct model *m, int key);
/* Moves the cursor to the next box with a matching name. False if there is none. */
bool flame_find(struct flame *f, const struct model *m, bool (*is_found)(void *ctx, const char *),
		void *ctx, int direction);
/* Returns the node under the cursor, QUERY_NO_NODE without one. */
uint32_t flame_node(const struct flame *f);
