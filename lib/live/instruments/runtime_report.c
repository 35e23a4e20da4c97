/* SPDX-License-Identifier: MIT */
#include "lib/live/instruments/runtime_report.h"

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
		const char *key;
		uint64_t value;
	} rows[] = {
		{"samples", c->samples},
		{"whole", c->whole},
		{"idle", c->idle},
		{"threadless", c->threadless},
		{"copied", c->copied},
		{"torn", c->torn},
		{"retried", c->retried},
		{"unplaced", c->unplaced},
		{"cut", c->cut},
		{"greenlets", c->switched},
		{"missed", c->missed},
		{"early", t->early},
		{"functions", t->functions},
		{"late", t->late},
		{"nameless", t->nameless},
		{"refused_reads", t->refused_reads},
		{"compiled", t->compiled},
		{"with_inlined", t->inlined},
		{"lost_functions", c->lost_sights + t->dropped},
		{"misplaced", c->clamped},
		{"refused_files", t->refused_files},
		{"abandoned", c->abandoned},
	};

	report_enter(report, "runtimes", NULL);
	report_text(report, NULL, "versions", versions);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		report_integer(report, NULL, rows[i].key, rows[i].value);
	report_enter(report, NULL, NULL);
}

/* Stacks from before the runtime was known count as lacking functions. */
static void report_share(const struct runtime_totals *t, const char *versions,
			 struct report *report)
{
	const struct runtime_counters *c = t->kernel;
	uint64_t before = c->missed + t->early;
	uint64_t all = c->samples - c->idle - c->threadless - c->copied + before;
	uint64_t lost = t->nameless + c->lost_sights + t->dropped;
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
	report_extra_text(report, NULL, "Recording", "Runtimes", versions);
}
