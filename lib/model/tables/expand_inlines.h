/* SPDX-License-Identifier: MIT */
/*
 * The only place that rewrites tables once the session has filled them: an answer about a frame
 * becomes its function, line and symbol, and a chain of inlined functions becomes more frames.
 * Symbolizers only give answers, so they cannot corrupt a profile.
 */
#ifndef PROF_LIB_MODEL_TABLES_EXPAND_INLINES_H
#define PROF_LIB_MODEL_TABLES_EXPAND_INLINES_H

#include "lib/model/tables/profile.h"

/* One function at an address. Chains have the outermost first. */
struct frame_name {
	string_id func; /* NO_STRING: unknown */
	string_id file; /* NO_STRING: unknown */
	uint32_t line; /* 0: unknown */
	bool is_named; /* func is a real name, not a synthetic one */
};

struct expand_inlines;

struct expand_inlines *expand_inlines_new(struct profile *p);
void expand_inlines_free(struct expand_inlines *e);
/*
 * Answers for `frame` (an id from before the expansion): the native symbol that covers it, or
 * NO_SYMBOL, and a chain of 1 … 256 functions, outermost (physical) first. Frames without an answer
 * and without a function get their address as name. Strings must be interned in the profile
 * already.
 */
void expand_inlines_answer(struct expand_inlines *e, frame_id frame, symbol_id symbol,
			   const struct frame_name *chain, size_t depth);
/* Rewrites frames, stacks, functions and the stacks of samples and markers. Call once. */
void expand_inlines_apply(struct expand_inlines *e);

#endif
