/* SPDX-License-Identifier: MIT */
#include "lib/live/instruments/runtimes/runtime_report.h"

#include <inttypes.h>
#include <stddef.h>

#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"
#include "lib/base/text.h"

static void report_stats(const struct runtime_totals *t, const char *versions,
			 struct report *report)
{
	const struct runtime_counters *c = t->kernel;
	const struct {
		enum fact_id id;
		uint64_t value;
	} rows[] = {
		{FACT_RUNTIME_SAMPLES, c->samples},
		{FACT_RUNTIME_WHOLE, c->whole},
		{FACT_RUNTIME_IDLE, c->idle},
		{FACT_RUNTIME_THREADLESS, c->threadless},
		{FACT_RUNTIME_COPIED, c->copied},
		{FACT_RUNTIME_TORN, c->torn},
		{FACT_RUNTIME_RETRIED, c->retried},
		{FACT_RUNTIME_UNPLACED, c->unplaced},
		{FACT_RUNTIME_CUT, c->cut},
		{FACT_RUNTIME_GREENLETS, c->switched},
		{FACT_RUNTIME_MISSED, c->missed},
		{FACT_RUNTIME_EARLY, t->early},
		{FACT_RUNTIME_FUNCTIONS, t->functions},
		{FACT_RUNTIME_LATE, t->late},
		{FACT_RUNTIME_NAMELESS, t->nameless},
		{FACT_RUNTIME_REFUSED_READS, t->refused_reads},
		{FACT_RUNTIME_COMPILED, t->compiled},
		{FACT_RUNTIME_WITH_INLINED, t->inlined},
		{FACT_RUNTIME_LOST_FUNCTIONS, c->lost_functions + t->dropped},
		{FACT_RUNTIME_MISPLACED, c->clamped},
		{FACT_RUNTIME_REFUSED_FILES, t->refused_files},
		{FACT_RUNTIME_ABANDONED, c->abandoned},
	};

	facts_text(&report->facts, FACT_RUNTIMES, NULL, versions);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		facts_count(&report->facts, rows[i].id, NULL, rows[i].value);
}

/* Stacks from before the runtime was known count as lacking functions. */
static void report_share(const struct runtime_totals *t, const char *versions,
			 struct report *report)
{
	const struct runtime_counters *c = t->kernel;
	uint64_t before = c->missed + t->early;
	uint64_t all = c->samples - c->idle - c->threadless - c->copied + before;
	uint64_t lost = t->nameless + c->lost_functions + t->dropped;
	_cleanup_free_ char *early = before ? xasprintf(" (%" PRIu64 " came too early)", before)
					    : NULL;

	report_line(report,
		    "%s: %.2f %% of stacks have all their functions%s; %" PRIu64
		    " functions, %" PRIu64 " names lost",
		    versions, all ? 100.0 * (double)c->whole / (double)all : 100,
		    early ? early : "", t->functions, lost);
}

void runtime_report(const struct runtime_totals *t, const char *versions, struct report *report)
{
	uint64_t switched = t->kernel->switched, abandoned = t->kernel->abandoned;

	/* Ran in processes that nobody wants to record. */
	if (!t->kernel->samples && !t->kernel->missed && !t->early)
		return;
	report_stats(t, versions, report);
	report_share(t, versions, report);
	if (switched)
		report_line(report,
			    "%" PRIu64 " stacks end where the functions of their greenlet begin: "
			    "the rest of the native stack belongs to others",
			    switched);
	if (abandoned)
		report_warning(report,
			       "the functions of %" PRIu64 " %s are not looked for any more: the "
			       "structures there misled each time",
			       abandoned, text_counted(abandoned, "process", "processes"));
}
