/* SPDX-License-Identifier: MIT */
#include "lib/session/tick_stats.h"

#include "bpf/record.h"

/*
 * The kind of task decides first: no better stack could be had. A stack without information about
 * its end, like those by frame pointers, is unknown. One marked whole with parts missing from the
 * profile is broken.
 */
static uint64_t *find_class(struct profile_stats *stats, const struct tick_stats_entry *entry)
{
	if (entry->sample_flags & SAMPLE_KERNEL_THREAD)
		return &stats->kernel_only;
	if (entry->sample_flags & SAMPLE_EXITING)
		return &stats->exiting;
	if (entry->stack_flags & STACK_TRUNCATED)
		return &stats->truncated;
	if (entry->stack_flags & STACK_WHOLE)
		return entry->is_cut ? &stats->broken : &stats->whole;
	if (entry->stack_flags & STACK_BROKEN)
		return &stats->broken;
	return &stats->unknown;
}

void tick_stats_count(struct profile_stats *stats, const struct tick_stats_entry *entry)
{
	uint64_t *class = find_class(stats, entry);

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
