/* SPDX-License-Identifier: MIT */
/* What is said of what kept CPUs and events from being sampled. */
#ifndef PROF_CMD_TEXT_EVENT_REPORT_H
#define PROF_CMD_TEXT_EVENT_REPORT_H

#include <jansson.h>

#include "lib/base/strbuf.h"
#include "lib/profile/profile.h"

/*
 * "CPU 1 for 12 ms (3 times), cycles for 4 ms (1 time)": where the kernel stopped the clock, and
 * which other events, summed over all CPUs; nothing where it did not.
 */
void event_report_throttling(const struct profile *p, struct strbuf *out);
/* Value of the key "cpu_losses" of --stats; a new reference. */
json_t *event_report_cpus(const struct profile *p);
/* The same for the front-end's info panel. */
void event_report_add_extra(struct profile *p);

#endif
