/* SPDX-License-Identifier: MIT */
#include "cmd/text/unwinding.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include "lib/live/unwind_methods.h"
#include "lib/recording/outcome_facts.h"

/* Below this share of whole stacks, the summary points to -v. */
#define WHOLE_PERMILLE_MIN 990

/*
 * Adds a share in tenths of a percent; rounded up to show small ones, or down so that 100 % means
 * all.
 */
static void add_share(struct strbuf *out, uint64_t count, uint64_t of, bool up)
{
	uint64_t permille = (count * 1000 + (up ? of - 1 : 0)) / of;

	strbuf_addf(out, "%" PRIu64 ".%" PRIu64 " %%", permille / 10, permille % 10);
}

/* Adds "1.2 % broken", preceded by `comma` unless it is the first. */
static void add_class(struct strbuf *out, const char *comma, const char *name, uint64_t count,
		      uint64_t of)
{
	if (!count)
		return;
	strbuf_adds(out, comma);
	add_share(out, count, of, true);
	strbuf_addf(out, " %s", name);
}

static void describe_stacks(enum recorder_unwind method, const struct profile_stats *stats,
			    struct strbuf *out)
{
	uint64_t of = outcome_stacks(stats);
	size_t before;

	if (!unwind_method_tells_ends(method)) {
		strbuf_adds(out, "by frame pointers");
		add_class(out, ", ", "truncated", stats->truncated, of);
		return;
	}
	add_share(out, stats->whole, of, false);
	strbuf_adds(out, " whole");
	before = out->size;
	add_class(out, " (", "finished later", stats->finished_later, of);
	add_class(out, out->size > before ? ", " : " (", "with guesses", stats->guessed, of);
	add_class(out, out->size > before ? ", " : " (", "without frames of unknown kinds",
		  stats->unknown_kinds, of);
	if (out->size > before)
		strbuf_addch(out, ')');
	add_class(out, ", ", "truncated", stats->truncated, of);
	add_class(out, ", ", "broken", stats->broken, of);
	add_class(out, ", ", "unknown", stats->unknown, of);
}

void unwinding_describe(enum recorder_unwind method, const struct profile_stats *stats,
			struct strbuf *out)
{
	size_t before = out->size;
	const char *separator;

	if (method != RECORDER_UNWIND_NONE && outcome_stacks(stats))
		describe_stacks(method, stats, out);
	separator = out->size > before ? "; " : "";
	if (stats->kernel_only) {
		strbuf_addf(out, "%s%" PRIu64 " kernel-only", separator, stats->kernel_only);
		separator = ", ";
	}
	if (stats->exiting) {
		strbuf_addf(out, "%s%" PRIu64 " exiting", separator, stats->exiting);
		separator = ", ";
	}
	if (unwind_method_tells_ends(method) && stats->compat_unknown)
		strbuf_addf(out, "%s%" PRIu64 " of 32-bit programs: leaf only", separator,
			    stats->compat_unknown);
}

void unwinding_summarize(enum recorder_unwind method, const struct profile_stats *stats,
			 struct strbuf *out)
{
	uint64_t of = outcome_stacks(stats);

	if (method == RECORDER_UNWIND_NONE || !of)
		return;
	if (!unwind_method_tells_ends(method)) {
		strbuf_adds(out, "by frame pointers");
		return;
	}
	add_share(out, stats->whole, of, false);
	strbuf_adds(out, " whole");
	if (stats->whole * 1000 < of * WHOLE_PERMILLE_MIN)
		strbuf_adds(out, ", the others end early: -v tells how");
}
