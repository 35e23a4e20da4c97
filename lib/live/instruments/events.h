/* SPDX-License-Identifier: MIT */
/* Facts about events besides the clock for other rooms. */
#pragma once

#include "bpf/config.h"
#include "lib/live/instrument.h"
#include "lib/live/perf/event_spec.h"

extern const struct instrument instrument_events;

/* Returns the clock named by --event; NULL: none. */
const struct event_spec *events_clock(const struct instrument_settings *settings);
/* Fills in the limits for the BPF programs: `limits` has room for EVENTS_MAX. */
void events_set_limits(const struct event_list *list, struct event_limit *limits);
