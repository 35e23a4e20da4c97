/* SPDX-License-Identifier: MIT */
#include "cmd/text/unwinding.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Below this share of whole stacks, the summary points to -v. */
#define WHOLE_PERMILLE_MIN 990

static const struct {
	const char *name, *text;
} methods[] = {
	[RECORDER_UNWIND_AUTO] = {"auto", "auto: call frame information, else frame pointers, else "
					  "a scan for return addresses"},
	[RECORDER_UNWIND_CFI] = {"cfi", "cfi: call frame information alone"},
	[RECORDER_UNWIND_FP] = {"fp", "fp: frame pointers alone"},
	[RECORDER_UNWIND_NONE] = {"none", "none: no user stacks"},
};

const char *unwinding_name(enum recorder_unwind method)
{
	return methods[method].name;
}

int unwinding_parse(const char *name, enum recorder_unwind *method)
{
	for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++) {
		if (strcmp(name, methods[i].name) == 0) {
			*method = (enum recorder_unwind)i;
			return 0;
		}
	}
	return -EINVAL;
}

uint64_t unwinding_stacks(const struct profile_stats *stats)
{
	return stats->whole + stats->truncated + stats->broken + stats->unknown;
}

/* Frame pointers do not tell how a stack ended. */
static bool tells_ends(enum recorder_unwind method)
{
	return method == RECORDER_UNWIND_AUTO || method == RECORDER_UNWIND_CFI;
}

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
	uint64_t of = unwinding_stacks(stats);
	size_t before;

	if (!tells_ends(method)) {
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

	if (method != RECORDER_UNWIND_NONE && unwinding_stacks(stats))
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
	if (tells_ends(method) && stats->compat_unknown)
		strbuf_addf(out, "%s%" PRIu64 " of 32-bit programs: leaf only", separator,
			    stats->compat_unknown);
}

void unwinding_summarize(enum recorder_unwind method, const struct profile_stats *stats,
			 struct strbuf *out)
{
	uint64_t of = unwinding_stacks(stats);

	if (method == RECORDER_UNWIND_NONE || !of)
		return;
	if (!tells_ends(method)) {
		strbuf_adds(out, "by frame pointers");
		return;
	}
	add_share(out, stats->whole, of, false);
	strbuf_adds(out, " whole");
	if (stats->whole * 1000 < of * WHOLE_PERMILLE_MIN)
		strbuf_adds(out, ", the others end early: -v tells how");
}

static void tell_share(struct facts *f, enum fact_id id, uint64_t count, uint64_t of)
{
	if (of)
		facts_real(f, id, NULL, (double)count / (double)of);
}

void unwinding_tell(struct facts *f, const struct profile_stats *stats, enum recorder_unwind method)
{
	uint64_t of = unwinding_stacks(stats);

	facts_text(f, FACT_UNWIND, NULL, methods[method].name);
	facts_text(f, FACT_UNWIND_METHOD, NULL, methods[method].text);
	if (tells_ends(method)) {
		tell_share(f, FACT_WHOLE_SHARE, stats->whole, of);
		tell_share(f, FACT_FINISHED_LATER_SHARE, stats->finished_later, of);
		tell_share(f, FACT_GUESSED_SHARE, stats->guessed, of);
		tell_share(f, FACT_BROKEN_SHARE, stats->broken, of);
		tell_share(f, FACT_UNKNOWN_SHARE, stats->unknown, of);
	}
	if (method != RECORDER_UNWIND_NONE)
		tell_share(f, FACT_TRUNCATED_SHARE, stats->truncated, of);
	facts_count(f, FACT_KERNEL_ONLY, NULL, stats->kernel_only);
	facts_count(f, FACT_EXITING, NULL, stats->exiting);
}
