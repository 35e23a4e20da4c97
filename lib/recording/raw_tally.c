/* SPDX-License-Identifier: MIT */
#include "lib/recording/raw_tally.h"

#include <stdbool.h>

static void tally_event(struct profile *p, const struct rec_event *rec)
{
	struct event_count *count = event_counts_get(&p->events, rec->event);

	if (!count)
		return;
	count->samples++;
	count->weight += rec->period;
}

static void tally_loss(struct profile *p, const struct rec_lost *rec)
{
	struct event_count *count = NULL;

	if (rec->cause >= LOST_CAUSE_COUNT || rec->event == LOST_WAITS)
		return;
	if (rec->event)
		count = event_counts_get(&p->events, rec->event);
	if (count)
		count->lost += rec->count;
	else if (!rec->event)
		p->stats.lost[rec->cause] += rec->count;
}

/* Counts as the session does: an exec's new address space says nothing of filters. */
static bool is_wanted(const struct rec *rec)
{
	return !(rec->flags & (REC_OUTSIDE | REC_UNSAMPLED)) &&
	       !(rec->kind == REC_NAME && rec->flags & NAME_NEW_SPACE);
}

void raw_tally(struct profile *p, const struct rec *rec)
{
	switch (rec->kind) {
	case REC_SAMPLE:
		p->stats.cpu_samples++;
		p->stats.wanted_threads++;
		break;
	case REC_ALLOC:
		p->stats.allocs.sampled++;
		p->stats.wanted_threads++;
		break;
	case REC_EVENT:
		tally_event(p, (const struct rec_event *)rec);
		p->stats.wanted_threads++;
		break;
	case REC_FORK:
	case REC_NAME:
	case REC_EXIT:
		p->stats.wanted_threads += is_wanted(rec);
		break;
	case REC_LOST:
		tally_loss(p, (const struct rec_lost *)rec);
		break;
	}
}
