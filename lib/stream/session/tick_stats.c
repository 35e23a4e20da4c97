/* SPDX-License-Identifier: MIT */
#include "lib/stream/session/tick_stats.h"

#include "bpf/record.h"

/*
 * The kind of task decides first: no better stack could be had. A stack without information about
 * its end, like those by frame pointers, is unknown. One marked whole with parts missing from the
 * profile is broken.
 */
enum stack_class tick_stats_class(const struct tick_stats_entry *entry)
{
	if (entry->sample_flags & SAMPLE_KERNEL_THREAD)
		return STACK_CLASS_KERNEL_ONLY;
	if (entry->sample_flags & SAMPLE_EXITING)
		return STACK_CLASS_EXITING;
	if (entry->stack_flags & STACK_TRUNCATED)
		return STACK_CLASS_TRUNCATED;
	if (entry->stack_flags & STACK_WHOLE)
		return entry->is_cut ? STACK_CLASS_BROKEN : STACK_CLASS_WHOLE;
	if (entry->stack_flags & STACK_BROKEN)
		return STACK_CLASS_BROKEN;
	return STACK_CLASS_UNKNOWN;
}

void tick_stats_count(struct profile_stats *stats, const struct tick_stats_entry *entry)
{
	uint64_t *const counts[STACK_CLASS_COUNT] = {
		[STACK_CLASS_WHOLE] = &stats->whole,
		[STACK_CLASS_TRUNCATED] = &stats->truncated,
		[STACK_CLASS_BROKEN] = &stats->broken,
		[STACK_CLASS_UNKNOWN] = &stats->unknown,
		[STACK_CLASS_KERNEL_ONLY] = &stats->kernel_only,
		[STACK_CLASS_EXITING] = &stats->exiting,
	};
	uint64_t *class = counts[tick_stats_class(entry)];

	stats->cpu_samples += entry->ticks;
	*class += entry->ticks;
	if (entry->is_32bit)
		stats->compat += entry->ticks;
	if (entry->is_32bit && class == &stats->unknown)
		stats->compat_unknown += entry->ticks;
	if (entry->stack_flags & STACK_GUESSED)
		stats->guessed += entry->ticks;
	if (entry->stack_flags & STACK_LATER)
		stats->finished_later += entry->ticks;
	if (entry->has_unknown_kind)
		stats->unknown_kinds += entry->ticks;
}
