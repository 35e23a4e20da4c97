/* SPDX-License-Identifier: MIT */
/* Prints what instruments say (lib/live/report.h), each row behind the one that it follows. */
#ifndef PROF_CMD_TEXT_INSTRUMENT_REPORT_H
#define PROF_CMD_TEXT_INSTRUMENT_REPORT_H

#include <jansson.h>

#include "lib/live/recorder.h"
#include "lib/profile/profile.h"

/* What the instruments say of their records, which are in the profile by now, is appended. */
void instrument_report_ask(struct report *report, const struct recorder *recorder,
			   const struct profile *p);
/* The keys of --stats with the instruments' between them: a new reference. */
json_t *instrument_report_stats(json_t *own, const struct report *report);
/* Puts the instruments' rows of the info panel between those that are there. */
void instrument_report_extras(struct profile *p, const struct report *report);

#endif
