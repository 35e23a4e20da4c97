/* SPDX-License-Identifier: MIT */
/* Shared by instruments with an option and a BPF object that sends markers of one schema. */
#ifndef PROF_LIB_LIVE_INSTRUMENTS_MARKER_STATE_H
#define PROF_LIB_LIVE_INSTRUMENTS_MARKER_STATE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/live/instruments/marker_probe.h"

/* Markers since the start. */
struct marker_counts {
	uint64_t sent, lost;
};

struct marker_kind {
	const char *name; /* of the object in the report */
	struct marker_facts facts;
	const struct schema_record *schema;
	/* Called once the object is open. */
	struct marker_counts (*counts)(const void *state);
};

/* Beginning of the instrument's state. All is borrowed. */
struct marker_state {
	struct live *live;
	const struct marker_kind *kind;
	const struct marker_probe_settings *settings;
	uint32_t schema;
	uint64_t lost; /* reported so far */
};

/* Returns a zeroed state of that size, but for its beginning; the caller frees. */
void *marker_state_new(size_t size, const struct marker_kind *kind, struct live *live,
		       const void *settings);
/* Functions of struct instrument. */
void marker_state_announce(void *state);
void marker_state_count(void *state, uint64_t time);
void marker_state_report(const void *state, const struct record_tally *tally, struct report *r);

#endif
