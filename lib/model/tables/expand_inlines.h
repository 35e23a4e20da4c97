/* SPDX-License-Identifier: MIT */
/*
 * The only code that rewrites tables once the session has filled them: the answer for a frame
 * becomes its function, line and symbol, and a chain of inlined functions becomes further frames.
 * Symbolizers only return answers, so they cannot corrupt a profile.
 */
#pragma once

#include "lib/model/tables/profile.h"

/*
 * Gives each sample the frames valid at its time if an address held different code at different
 * times. The caller supplies the answers.
 */

/* Validity of an answer, [from, to). */
struct rebind_span {
	uint64_t from, to;
};

#define REBIND_CHAIN_MAX 64

/*
 * Replaces frames[0] by the frames valid at `time`, and narrows *span to their validity; `time`
 * stays inside. *span is unlimited on entry. May intern functions and strings. Returns the number
 * of frames, at least 1: the outermost, then those inlined into it.
 */
typedef size_t rebind_fn(void *ctx, uint64_t time, struct frame frames[REBIND_CHAIN_MAX],
			 struct rebind_span *span);

enum rebind_kept {
	REBIND_BOTH,
	REBIND_FRAME, /* the frame also represents its caller, which is dropped */
	REBIND_CALLER, /* the caller also represents the frame, which is dropped */
};

/*
 * Decides which of a frame and its caller, both new frames, to keep. Several consecutive frames may
 * be dropped.
 */
typedef enum rebind_kept rebind_keep_fn(void *ctx, const struct frame *frame,
					const struct frame *caller);

/* Rewrites frames, stacks, and the stacks of samples and markers. Drops unused rows. */
void rebind_frames_apply(struct profile *p, rebind_fn *at, rebind_keep_fn *keep, void *ctx);

/* One function at an address. Chains begin with the outermost function. */
struct frame_name {
	string_id func; /* NO_STRING: unknown */
	string_id file; /* NO_STRING: unknown */
	uint32_t line; /* 0: unknown */
	uint32_t start_line; /* line of the function's declaration; 0: unknown */
	bool is_named; /* func is a real name, not a synthetic one */
};

struct expand_inlines;

struct expand_inlines *expand_inlines_new(struct profile *p);
void expand_inlines_free(struct expand_inlines *e);
/*
 * Sets the answer for `frame` (an id from before the expansion): the native symbol that covers the
 * frame, or NO_SYMBOL, and a chain of 1 to 256 functions, outermost (physical) first. Frames
 * without an answer and without a function are named by their address. Strings must already be
 * interned in the profile.
 */
void expand_inlines_answer(struct expand_inlines *e, frame_id frame, symbol_id symbol,
			   const struct frame_name *chain, size_t depth);
bool expand_inlines_has_answer(const struct expand_inlines *e, frame_id frame);
/* Rewrites frames, stacks, functions and the stacks of samples and markers. Call once. */
void expand_inlines_apply(struct expand_inlines *e);
