/* SPDX-License-Identifier: MIT */
/*
 * Mappings of processes and the kernel, and their unwind tables. The tracker sends the records;
 * this file reports on them.
 */

#include "lib/live/features.h"
#include "lib/live/instrument.h"
#include "lib/live/recorder.h"
#include "lib/live/tracker.h"

struct mappings {
	struct live *live;
};

static void announce(void *state)
{
	const struct mappings *m = state;

	tracker_send_kernel(m->live->tracker, m->live->begin_ns);
}

static void report(const void *state, const struct record_tally *tally, struct report *r)
{
	const struct live *live = ((const struct mappings *)state)->live;
	uint64_t skipped_copies = live->counters->sums.skipped_copies;
	enum recorder_unwind method = live->options->unwind;
	struct unwinder_stats unwind;

	tracker_get_stats(live->tracker, &unwind);
	facts_count(&r->facts, FACT_TABLES, NULL, unwind.tables);
	facts_count(&r->facts, FACT_TABLES_COMPILED, NULL, unwind.compiled);
	facts_count(&r->facts, FACT_TABLE_ROWS, NULL, unwind.rows);
	facts_count(&r->facts, FACT_TABLE_BYTES, NULL, unwind.table_bytes);
	facts_count(&r->facts, FACT_TABLES_REFUSED, NULL, unwind.refused);
	facts_count(&r->facts, FACT_COPIES_SKIPPED, NULL, skipped_copies);
	if (unwind.refused)
		report_warning(r, "%llu unwind %s did not fit: increase --unwind-memory",
			       (unsigned long long)unwind.refused,
			       text_counted(unwind.refused, "table", "tables"));
	if (method != RECORDER_UNWIND_AUTO && method != RECORDER_UNWIND_CFI)
		facts_hide(&r->facts, FACT_SECTION_TABLES);
}

static void check_rings(struct machine *m, struct feature *f)
{
	struct map_ring *ring;
	struct error err = {0};

	if (m->perf_code) {
		feature_set(f, FEATURE_NOTE, "not tried: perf_event_open() is refused");
	} else if (map_ring_open(&ring, m->cpu, &err) == 0) {
		map_ring_free(ring);
		feature_set(f, FEATURE_OK, "mapped");
	} else {
		feature_set(f, FEATURE_MISSING, "%.180s", err.text);
		feature_hint(f, "%.180s", err.hint);
	}
}

static const struct instrument_check checks[] = {
	{"rings", "bpf", check_rings},
	{0},
};

/* Copied stacks become stacks with the help of the tables. */
const struct instrument instrument_mappings = {
	.name = "mappings",
	.checks = checks,
	.takes = INSTRUMENT_TAKES(REC_COPY),
	.state_size = sizeof(struct mappings),
	.announce = announce,
	.report = report,
};
