/* SPDX-License-Identifier: MIT */
/* Reports that the kernel kept CPUs and events from being sampled. */
#ifndef PROF_CMD_TEXT_EVENT_REPORT_H
#define PROF_CMD_TEXT_EVENT_REPORT_H

#include "lib/base/strbuf.h"
#include "lib/profile/profile.h"

/*
 * Appends "CPU 1 for 12 ms (3 times), cycles for 4 ms (1 time)": CPUs on which the kernel stopped
 * the clock, and other events that it stopped, summed over all CPUs. Nothing if it stopped none.
 */
void event_report_throttling(const struct profile *p, struct strbuf *out);
/* Tells the same, and the losses of each CPU. */
void event_report_tell(struct facts *f, const struct profile *p);

#endif
