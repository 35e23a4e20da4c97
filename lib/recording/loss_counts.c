/* SPDX-License-Identifier: MIT */
#include "lib/recording/loss_counts.h"

#include "lib/stream/record/records.h"

_Static_assert(LOST_CAUSE_COUNT <= PROFILE_LOST_CAUSES, "every cause has its counter");

bool loss_is_sample(enum lost_cause cause)
{
	switch (cause) {
	case LOST_RING_FULL:
	case LOST_STACK:
	case LOST_NO_RING:
	case LOST_CAPTURE:
		return true;
	default:
		return false;
	}
}

uint64_t losses_count(const struct profile_stats *stats, bool samples)
{
	uint64_t count = 0;

	for (unsigned int cause = 0; cause < LOST_CAUSE_COUNT; cause++) {
		if (loss_is_sample(cause) == samples)
			count += stats->lost[cause];
	}
	return count;
}

bool losses_are_none(const struct profile *p)
{
	return !vec_find(&p->events.rows, event, event->lost) && !losses_count(&p->stats, true) &&
	       !losses_count(&p->stats, false);
}

void losses_describe(const struct profile_stats *stats, bool samples, struct strbuf *out)
{
	for (unsigned int cause = 0; cause < LOST_CAUSE_COUNT; cause++) {
		if (loss_is_sample(cause) != samples || !stats->lost[cause])
			continue;
		strbuf_addf(out, "%s%s %" PRIu64, out->size ? ", " : "", lost_cause_name(cause),
			    stats->lost[cause]);
	}
}
