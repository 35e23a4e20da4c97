/* SPDX-License-Identifier: MIT */
#include "cmd/run/raw_tally.h"

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

void raw_tally(struct profile *p, const struct rec *rec)
{
	switch (rec->kind) {
	case REC_SAMPLE:
		p->stats.cpu_samples++;
		break;
	case REC_EVENT:
		tally_event(p, (const struct rec_event *)rec);
		break;
	case REC_LOST:
		tally_loss(p, (const struct rec_lost *)rec);
		break;
	}
}
