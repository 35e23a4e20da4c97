/* SPDX-License-Identifier: MIT */
/*
 * Perf maps and jitdumps, in which programs describe code that they generate. The tracker reads
 * them.
 */
#include <stdlib.h>

#include "lib/base/alloc.h"
#include "lib/live/instrument.h"
#include "lib/live/tracker.h"

struct code_files {
	struct live *live;
};

static void *create(struct live *live, const void *settings)
{
	struct code_files *c = xcalloc(1, sizeof(*c));

	(void)settings;
	c->live = live;
	return c;
}

/* Adds rows to the panel behind those of unwinding, if there were such files. */
static void report_panel(const struct jit_files_stats *code, struct report *r)
{
	static const char panel[] = "Code made at run time";
	uint64_t files = code->maps + code->dumps;

	if (!files)
		return;
	report_extra_number(r, "Samples of exiting threads", panel, "Perf maps and jitdumps",
			    "integer", files);
	report_extra_number(r, NULL, panel, "Pieces of code", "integer", code->pieces);
	report_extra_number(r, NULL, panel, "Malformed entries", "integer", code->malformed);
	report_extra_number(r, NULL, panel, "Files read in part", "integer", code->cut);
}

static void report(const void *state, const struct record_tally *tally, struct report *r)
{
	const struct live *live = ((const struct code_files *)state)->live;
	struct jit_files_stats code;
	struct unwinder_stats unwind;

	(void)tally;
	tracker_get_code_stats(live->tracker, &code);
	tracker_get_stats(live->tracker, &unwind);
	report_integer(r, "fde_frames", "code_files", code.maps + code.dumps);
	report_integer(r, NULL, "code_pieces", code.pieces);
	report_integer(r, NULL, "code_unwound", unwind.code_pieces);
	report_integer(r, NULL, "code_malformed", code.malformed);
	report_integer(r, NULL, "code_cut", code.cut);
	report_panel(&code, r);
	/* Code described after the cut has no names. */
	if (code.cut)
		report_warning(
			r,
			"%llu %s too large and read in part: code that was made late has no names",
			(unsigned long long)code.cut,
			code.cut == 1 ? "perf map or jitdump is" : "perf maps or jitdumps are");
}

const struct instrument instrument_code_files = {
	.name = "code files",
	.create = create,
	.destroy = free,
	.report = report,
};
