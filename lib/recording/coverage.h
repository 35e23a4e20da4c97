/* SPDX-License-Identifier: MIT */
/* Counts the frames of each module with names and with lines, and explains missing ones. */
#pragma once

#include "lib/model/tables/profile.h"
#include "symbolize/source_texts.h"
#include "lib/model/facts/facts.h"
#include "lib/live/recorder.h"

#define LINES_UNKNOWN UINT64_MAX

struct module_coverage {
	module_id module; /* NO_MODULE: frames without a file */
	uint64_t frames; /* distinct addresses in the module's code */
	uint64_t named; /* frames with a real name, neither an address nor fun_<hex> */
	uint64_t with_lines; /* frames with lines, or LINES_UNKNOWN */
};

struct coverage {
	VEC(struct module_coverage) rows; /* modules with frames, most frames first */
};

/* Counts a profile after symbolization, or one that is never symbolized. */
void coverage_count(struct coverage *n, const struct profile *p);
void coverage_release(struct coverage *n);
/* Appends a table of lines, each starting with `prefix`. */
void coverage_describe(const struct coverage *n, const struct profile *p, const char *prefix,
		       struct strbuf *out);
/* Adds one line for each module to "Show more", in a section of its own. */
void coverage_add_extra(const struct coverage *n, struct profile *p);
/*
 * Lists files skipped because their file system did not respond; appends nothing if there are none.
 */
void coverage_describe_silence(const struct profile *p, const struct sources_stats *sources,
			       uint64_t stall_ns, struct strbuf *text);

/* Facts about modules whose code leaves stacks incomplete or guessed. */

/*
 * Adds a fact for each file with samples that could not be opened while it was recorded, those with
 * the most samples first.
 */
void stack_shares_add_unopened(struct facts *f, const struct profile *p,
			       enum recorder_unwind unwind);

/*
 * Adds the modules whose code lacks unwind rules, so that the frames above it were guessed, those
 * with the most samples first. Adds nothing if less than GUESSES_SHOWN of the stacks are guessed.
 */
void stack_shares_add_guessed(struct facts *f, const struct profile *p);
