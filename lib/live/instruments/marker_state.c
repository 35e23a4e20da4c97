/* SPDX-License-Identifier: MIT */
#include "lib/live/instruments/marker_state.h"

#include "lib/base/alloc.h"

void *marker_state_new(size_t size, const struct marker_kind *kind, struct live *live,
		       const void *settings)
{
	struct marker_state *s = xcalloc(1, size);

	s->live = live;
	s->kind = kind;
	s->settings = settings;
	s->schema = instrument_new_schema(live);
	return s;
}

void marker_state_announce(void *state)
{
	const struct marker_state *s = state;

	marker_probe_announce(s->live, s->kind->schema, s->schema);
}

void marker_state_count(void *state, uint64_t time)
{
	struct marker_state *s = state;

	marker_probe_count(s->live, s->kind->counts(s).lost, &s->lost, time);
}

void marker_state_report(const void *state, const struct record_tally *tally, struct report *r)
{
	const struct marker_state *s = state;
	struct marker_counts counts = s->kind->counts(s);

	(void)tally;
	marker_probe_report(r, s->kind->name, &s->kind->facts, counts.sent, counts.lost);
}
