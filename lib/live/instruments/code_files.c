/* SPDX-License-Identifier: MIT */
/*
 * Perf maps, jitdumps and lists for debuggers, in which programs describe generated code. The
 * tracker reads them.
 */
#include "lib/live/instrument.h"
#include "lib/live/tracker.h"

struct code_files {
	struct live *live;
};

static void report(const void *state, const struct record_tally *tally, struct report *r)
{
	const struct live *live = ((const struct code_files *)state)->live;
	_cleanup_(strbuf_release) struct strbuf users = {0};
	struct jit_files_stats code;
	struct unwinder_stats unwind;

	tracker_get_code_stats(live->tracker, &code);
	tracker_list_code_refused(live->tracker, &users);
	tracker_get_stats(live->tracker, &unwind);
	facts_count(&r->facts, FACT_CODE_FILES, NULL, code.maps + code.dumps + code.lists);
	facts_count(&r->facts, FACT_CODE_PIECES, NULL, code.pieces);
	facts_count(&r->facts, FACT_CODE_UNWOUND, NULL, unwind.code_pieces);
	facts_count(&r->facts, FACT_CODE_MALFORMED, NULL, code.malformed);
	facts_count(&r->facts, FACT_CODE_CUT, NULL, code.cut);
	if (!code.maps && !code.dumps && !code.lists)
		facts_hide(&r->facts, FACT_SECTION_CODE);
	/* Code described after the limit was reached has no names. */
	if (code.cut)
		report_warning(
			r,
			"%llu %s too large and read in part: code generated late has no names%s%s",
			(unsigned long long)code.cut,
			code.cut == 1 ? "perf map, jitdump or list of code is"
				      : "perf maps, jitdumps or lists of code are",
			users.size ? "; too much was written by " : "",
			users.size ? users.text : "");
}

const struct instrument instrument_code_files = {
	.name = "code files",
	.state_size = sizeof(struct code_files),
	.report = report,
};
