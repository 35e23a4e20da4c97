/* SPDX-License-Identifier: MIT */
#include "cmd/text/instrument_report.h"

#include <stdlib.h>

#include "cmd/text/loss_counts.h"
#include "lib/base/alloc.h"
#include "lib/base/cleanup.h"

static uint64_t throttled_ticks(const struct profile *p, uint64_t interval_ns)
{
	uint64_t ticks = 0;

	if (!interval_ns)
		return 0;
	vec_for_each(&p->cpu_losses, const struct cpu_losses *, cpu)
		ticks += cpu->throttled_ns / interval_ns;
	return ticks;
}

void instrument_report_ask(struct report *report, const struct recorder *recorder,
			   const struct profile *p)
{
	_cleanup_free_ struct event_tally *events = xcalloc(p->events.rows.count + 1,
							    sizeof(*events));
	struct record_tally tally = {
		.ticks = p->stats.cpu_samples + losses_count(&p->stats, true),
		.events = events,
		.event_count = (uint32_t)p->events.rows.count,
	};
	struct recorder_info info;

	for (uint32_t i = 0; i < tally.event_count; i++) {
		const struct event_count *count = &p->events.rows.items[i];

		events[i] = (struct event_tally){
			.samples = count->samples,
			.weight = count->weight,
			.lost = count->lost,
			.throttled = count->throttled,
			.throttled_ns = count->throttled_ns,
		};
	}
	recorder_get_info(recorder, &info);
	tally.throttled_ticks = throttled_ticks(p, info.interval_ns);
	recorder_report(recorder, &tally, report);
}
