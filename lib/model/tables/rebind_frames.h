/* SPDX-License-Identifier: MIT */
/*
 * Gives each sample the frames of its own time where an address held different code at different
 * times. Rewrites tables, as expand_inlines.h does, and leaves the knowledge to the caller.
 */
#ifndef PROF_LIB_MODEL_TABLES_REBIND_FRAMES_H
#define PROF_LIB_MODEL_TABLES_REBIND_FRAMES_H

#include <stdbool.h>

#include "lib/model/tables/profile.h"

/* Validity of an answer, [from, to). */
struct rebind_span {
	uint64_t from, to;
};

#define REBIND_CHAIN_MAX 64

/*
 * Replaces frames[0] by what it is at `time`, and narrows *span to the times for which this holds;
 * `time` stays inside. *span is everything on entry. May intern functions and strings. Returns how
 * many frames it has become, at least 1: the outermost, then those that are inlined in it.
 */
typedef size_t rebind_fn(void *ctx, uint64_t time, struct frame frames[REBIND_CHAIN_MAX],
			 struct rebind_span *span);

/*
 * Does the frame stand for its caller, too? Both are new ones. Such callers are left out, also
 * several in a row.
 */
typedef bool rebind_covers_fn(const struct frame *frame, const struct frame *caller);

/* Rewrites frames, stacks, and the stacks of samples and markers. Drops unused rows. */
void rebind_frames_apply(struct profile *p, rebind_fn *at, rebind_covers_fn *covers, void *ctx);

#endif
