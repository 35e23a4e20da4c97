/* SPDX-License-Identifier: MIT */
#include "lib/base/clock.h"
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

/* Time for all CPUs to see that an epoch begins. */
#define EPOCH_AHEAD_NS 2000000ull

uint64_t recorder_begin_epoch(struct recorder *r)
{
	uint64_t time = clock_monotonic_ns() + EPOCH_AHEAD_NS;

	programs_begin_epoch(r->programs, time);
	if (r->options.forget_ns && time - r->start_ns > r->options.forget_ns)
		tracker_forget_files(r->tracker, time - r->options.forget_ns,
				     time - EPOCH_AHEAD_NS);
	return time;
}

void recorder_report(const struct recorder *r, const struct record_tally *tally,
		     struct report *report)
{
	instrument_set_report(&r->instruments, tally, report);
}
