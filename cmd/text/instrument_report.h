/* SPDX-License-Identifier: MIT */
/* Prints rows of instruments (lib/live/report.h), each behind the row that it follows. */
#ifndef PROF_CMD_TEXT_INSTRUMENT_REPORT_H
#define PROF_CMD_TEXT_INSTRUMENT_REPORT_H

#include <jansson.h>

#include "lib/live/recorder.h"
#include "lib/profile/profile.h"

/* Collects the instruments' rows about their records, once these are in the profile. */
void instrument_report_ask(struct report *report, const struct recorder *recorder,
			   const struct profile *p);
/* Merges the instruments' keys into those of --stats. Returns a new reference. */
json_t *instrument_report_stats(json_t *own, const struct report *report);
/* Inserts the instruments' rows into the info panel. */
void instrument_report_extras(struct profile *p, const struct report *report);

#endif
