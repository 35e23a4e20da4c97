/* SPDX-License-Identifier: MIT */
#include "lib/live/process/filter.h"
#include "lib/live/recorder_internal.h"

void recorder_get_info(const struct recorder *r, struct recorder_info *info)
{
	const struct cpu_list *only = &r->options.filter->cpus;

	*info = (struct recorder_info){
		.cpu_count = only->count ? only->count : (uint32_t)r->cpus.cpus.count,
		.interval_ns = r->instruments.live.interval_ns,
		.ring_bytes = r->options.ring_bytes * r->cpus.cpus.count,
		.start_ns = r->start_ns,
		.start_realtime_ns = r->start_realtime_ns,
		.end_ns = r->end_ns,
		.written_bytes = r->counters.sums.written_bytes,
		.dropped_files = file_set_dropped(r->source.files),
		.backlog_bytes = merge_peak(r->merge),
	};
}

void recorder_report(const struct recorder *r, const struct record_tally *tally,
		     struct report *report)
{
	instrument_set_report(&r->instruments, tally, report);
}
