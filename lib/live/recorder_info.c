/* SPDX-License-Identifier: MIT */
#include "lib/live/process/filter.h"
#include "lib/live/recorder_internal.h"

/* Those of hardware are counted as they come. */
static void count_ticks(const struct recorder *r, struct recorder_info *info)
{
	uint64_t period_ns = r->cpus.event.period_ns, time_ns = r->end_ns - r->start_ns;

	if (r->cpus.event.clock != CLOCK_CPU || !r->end_ns)
		return;
	info->idle_ticks += r->idle_ns / period_ns;
	info->expected_ticks = info->cpu_count * (time_ns / period_ns);
}

void recorder_get_info(const struct recorder *r, struct recorder_info *info)
{
	const struct cpu_list *only = &r->options.filter->cpus;
	struct unwinder_stats unwind;
	struct jit_files_stats code;

	tracker_get_stats(r->tracker, &unwind);
	tracker_get_code_stats(r->tracker, &code);
	*info = (struct recorder_info){
		.event = sampling_event_name(&r->cpus.event),
		.cpu_count = only->count ? only->count : (uint32_t)r->cpus.cpus.count,
		.interval_ns = r->cpus.event.period_ns,
		.ring_bytes = r->options.ring_bytes * r->cpus.cpus.count,
		.start_ns = r->start_ns,
		.start_realtime_ns = r->start_realtime_ns,
		.end_ns = r->end_ns,
		.written_bytes = r->counters.sums.written_bytes,
		.dropped_files = file_set_dropped(r->source.files),
		.unwind_tables = unwind.tables,
		.unwind_rows = unwind.rows,
		.unwind_bytes = unwind.table_bytes,
		.unwind_refused = unwind.refused,
		.skipped_copies = r->counters.sums.skipped_copies,
		.skipped_arguments = r->counters.sums.skipped_arguments,
		.code_files = code.maps + code.dumps,
		.code_pieces = code.pieces,
		.code_unwound = unwind.code_pieces,
		.code_malformed = code.malformed,
		.code_cut = code.cut,
		.idle_ticks = r->counters.sums.idle_ticks,
		.other_ticks = r->counters.sums.other_ticks,
		.backlog_bytes = merge_peak(r->merge),
	};
	if (r->events)
		info->events = event_set_stats(r->events, &info->event_count);
	count_ticks(r, info);
}
