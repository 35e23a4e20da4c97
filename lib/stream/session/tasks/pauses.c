/* SPDX-License-Identifier: MIT */
#include "lib/stream/session/tasks/pauses.h"

#include "lib/model/meaning/recording_markers.h"

/* Further pauses get no markers. */
#define MARKERS_MAX 10000
#define NS_PER_MS 1000000

void pauses_release(struct pauses *p)
{
	vec_release(&p->rows);
}

bool pauses_are_on(const struct pauses *p)
{
	return p->rows.count && vec_last(&p->rows).end == UINT64_MAX;
}

bool pauses_set(struct pauses *p, bool is_paused, uint64_t time)
{
	if (is_paused == pauses_are_on(p))
		return false;
	if (is_paused)
		vec_push(&p->rows, ((struct pause){time, UINT64_MAX}));
	else
		vec_last(&p->rows).end = time;
	return true;
}

uint64_t pauses_resumed(const struct pauses *p)
{
	size_t count = p->rows.count - pauses_are_on(p);

	return count ? p->rows.items[count - 1].end : 0;
}

/* Returns the position of the first pause that ends after that time, or their number. */
static size_t find(const struct pauses *p, uint64_t time)
{
	size_t low = 0, high = p->rows.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (p->rows.items[middle].end > time)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

bool pauses_hide(const struct pauses *p, uint64_t start, uint64_t end)
{
	size_t at = find(p, start);

	return at < p->rows.count && p->rows.items[at].start <= start &&
	       end <= p->rows.items[at].end;
}

void pauses_finish(struct pauses *p, struct profile *profile, uint64_t end)
{
	if (!p->rows.count)
		return;
	pauses_set(p, false, end);
	for (size_t i = 0; i < p->rows.count; i++) {
		const struct pause *row = &p->rows.items[i];

		profile->stats.paused_ns += row->end - row->start;
		if (i < MARKERS_MAX)
			pause_marker_add(profile, row->start, row->end);
	}
	profile->stats.pauses = p->rows.count;
	profile_add_count(profile, FACT_PAUSES, NULL, p->rows.count);
	profile_add_count(profile, FACT_PAUSED, NULL, profile->stats.paused_ns / NS_PER_MS);
}
