/* SPDX-License-Identifier: MIT */
/* A tree of functions and samples that refer to it, as in all of V8's profiles. */
#pragma once

#include "lib/format/foreign.h"

struct v8_node {
	int64_t id;
	uint32_t parent; /* row of the parent, or INDEX_NONE */
	struct span children;
	int64_t parent_id; /* 0: no parent */
	frame_id frame;
	stack_id stack; /* valid once it is known */
	bool is_known;
};

struct v8_tree {
	VEC(struct v8_node) nodes;
	struct index index; /* index of ids */
	VEC(uint32_t) path;
};

/* Samples of a thread, of which only times and stacks are known. Release `rows`. */
struct v8_samples {
	struct samples rows;
	uint64_t end; /* end of the last one; 0: unknown */
	uint64_t mean; /* length of a sample */
};

/* Returns the frame of a "callFrame". The span may be empty. */
frame_id v8_frame(struct foreign *f, const struct json_cursor *whole, struct span span);
/*
 * Adds an array of nodes and their links, by children or by parents, or the outermost node with all
 * others inside. Returns false if it is damaged.
 */
bool v8_tree_add(struct v8_tree *t, struct foreign *f, struct json_cursor s);
void v8_tree_release(struct v8_tree *t);
/* Returns the row of an id, or INDEX_NONE. */
uint32_t v8_tree_find(const struct v8_tree *t, int64_t id);
stack_id v8_tree_stack(struct v8_tree *t, struct foreign *f, uint32_t row);

/* Returns a tick length equal to the shortest sample, within limits. */
uint64_t v8_samples_interval(const struct v8_samples *samples);
/*
 * Moves samples to a thread, weighted by their length; without times, as one tick each, at the
 * times of `f`. The interval is set.
 */
void v8_samples_add(struct v8_samples *samples, struct foreign *f, thread_id thread,
		    bool has_times);
