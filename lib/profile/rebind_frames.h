/* SPDX-License-Identifier: MIT */
/*
 * Where the same address stood for different code at different times: gives each sample the frames
 * of its own time. Like expand_inlines.h, it rewrites tables and leaves the knowledge to others.
 */
#ifndef PROF_LIB_PROFILE_REBIND_FRAMES_H
#define PROF_LIB_PROFILE_REBIND_FRAMES_H

#include "lib/profile/profile.h"

/* When something holds, [from, to). */
struct rebind_span {
	uint64_t from, to;
};

/*
 * Replaces *frame by what it is at `time`, and says for which times, that one among them, this is
 * the answer. Called with *span as always. It may intern functions and strings.
 */
typedef void rebind_fn(void *ctx, uint64_t time, struct frame *frame, struct rebind_span *span);

/*
 * Rewrites frames, stacks, and the stacks of samples and markers. Rows that none of them uses are
 * gone afterwards.
 */
void rebind_frames_apply(struct profile *p, rebind_fn *at, void *ctx);

#endif
