/* SPDX-License-Identifier: MIT */
/* Facts about the events besides the clock that other rooms use. */
#ifndef PROF_LIB_LIVE_INSTRUMENTS_EVENTS_H
#define PROF_LIB_LIVE_INSTRUMENTS_EVENTS_H

#include "bpf/config.h"
#include "lib/live/instrument.h"
#include "lib/live/perf/event_spec.h"

extern const struct instrument instrument_events;

/* The clock that --event names; NULL: none. */
const struct event_spec *events_clock(const struct instrument_settings *settings);
/* Fills in what the programs are told: `limits` has room for EVENTS_MAX. */
void events_set_limits(const struct event_list *list, struct event_limit *limits);

#endif
