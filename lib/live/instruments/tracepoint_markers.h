/* SPDX-License-Identifier: MIT */
/* The part of events whose occurrences become markers, with the fields of their tracepoints. */
#ifndef PROF_LIB_LIVE_INSTRUMENTS_TRACEPOINT_MARKERS_H
#define PROF_LIB_LIVE_INSTRUMENTS_TRACEPOINT_MARKERS_H

#include "lib/live/instrument.h"
#include "lib/live/perf/event_spec.h"

struct tracepoint_markers;

/* `list` is borrowed. */
struct tracepoint_markers *tracepoint_markers_new(struct live *live, const struct event_list *list);
void tracepoint_markers_free(struct tracepoint_markers *t);
/* Functions as of struct instrument. The list must be resolved; without such events they do
 * nothing. */
int tracepoint_markers_configure(struct tracepoint_markers *t, struct programs_options *programs,
				 struct error *err);
void tracepoint_markers_announce(const struct tracepoint_markers *t);
void tracepoint_markers_enable(struct tracepoint_markers *t, bool enable);
void tracepoint_markers_take(struct tracepoint_markers *t, const struct rec *rec);
void tracepoint_markers_count(struct tracepoint_markers *t, uint64_t time);
void tracepoint_markers_report(const struct tracepoint_markers *t, struct report *r);
/* Returns the descriptor of the program, once it is loaded, -1 if none. */
int tracepoint_markers_program(const struct tracepoint_markers *t);

#endif
