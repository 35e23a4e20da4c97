/* SPDX-License-Identifier: MIT */
/* Asks the recorder for its report. */
#ifndef PROF_CMD_TEXT_INSTRUMENT_REPORT_H
#define PROF_CMD_TEXT_INSTRUMENT_REPORT_H

#include "lib/live/recorder.h"
#include "lib/profile/profile.h"

/* Collects what the instruments tell about their records, once these are in the profile. */
void instrument_report_ask(struct report *report, const struct recorder *recorder,
			   const struct profile *p);
#endif
