/* SPDX-License-Identifier: MIT */
/* Shared by instruments that send markers: with their schema, losses and report. */
#ifndef PROF_LIB_LIVE_INSTRUMENTS_MARKER_PROBE_H
#define PROF_LIB_LIVE_INSTRUMENTS_MARKER_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/live/instrument.h"
#include "lib/record/marker_record.h"
#include "lib/record/schema_record.h"

/* Settings of such an instrument, by its option. */
struct marker_probe_settings {
	bool is_wanted;
	uint64_t min_ns; /* shorter ones are no markers; 0: all are */
};

/* Is it asked for? As struct instrument has it. */
bool marker_probe_is_wanted(const void *settings);
/* Sets an option without a value: as struct instrument_option has it. */
int marker_probe_want(void *settings, const char *value, struct error *err);
/* Sets one with a length: ms, 0, or NULL for the default. Returns 0 or -EINVAL with err. */
int marker_probe_want_long(void *settings, const char *option, const char *value,
			   uint64_t default_ns, struct error *err);

/* Sends the schema, to which markers refer by `id`. It has the time of the begin, however late. */
void marker_probe_announce(const struct live *live, const struct schema_record *schema,
			   uint32_t id);
void marker_probe_send(const struct live *live, const struct marker_record *marker);
/* Sends a REC_LOST if the probe has lost more markers than `*before`, and updates that. */
void marker_probe_count(const struct live *live, uint64_t lost, uint64_t *before, uint64_t time);
/* Facts that an instrument tells of its markers. */
struct marker_facts {
	enum fact_id sent, lost;
};

/* Reports the feature `name`, these facts and a line of the summary. */
void marker_probe_report(struct report *r, const char *name, const struct marker_facts *facts,
			 uint64_t sent, uint64_t lost);

#endif
