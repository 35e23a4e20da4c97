/* SPDX-License-Identifier: MIT */
/* What is said of the events besides the clock, and of what kept CPUs from being sampled. */
#ifndef PROF_CMD_TEXT_EVENT_REPORT_H
#define PROF_CMD_TEXT_EVENT_REPORT_H

#include <jansson.h>

#include "lib/base/strbuf.h"
#include "lib/live/recorder.h"
#include "lib/profile/profile.h"

/* "page-faults 1083 in 1075 samples, 3 lost; …" without a newline; nothing where there are none. */
void event_report_describe(const struct profile *p, const struct recorder_info *info,
			   struct strbuf *out);
/*
 * "CPU 1 for 12 ms (3 times), cycles for 4 ms (1 time)": where the kernel stopped the clock, and
 * which other events, summed over all CPUs; nothing where it did not.
 */
void event_report_throttling(const struct profile *p, struct strbuf *out);
/* Values of the keys "events" and "cpu_losses" of --stats; new references. */
json_t *event_report_stats(const struct profile *p, const struct recorder_info *info);
json_t *event_report_cpus(const struct profile *p);
/* The same for the front-end's info panel. */
void event_report_add_extra(struct profile *p, const struct recorder_info *info);

#endif
