/* SPDX-License-Identifier: MIT */
/* Reports the files that could not be opened while they were recorded. */
#ifndef PROF_LIB_RECORDING_UNOPENED_SHARES_H
#define PROF_LIB_RECORDING_UNOPENED_SHARES_H

#include "lib/model/facts/facts.h"
#include "lib/live/recorder.h"
#include "lib/model/tables/profile.h"

/* Adds a fact for each such file with samples in it, those with the most samples first. */
void unopened_shares_add(struct facts *f, const struct profile *p, enum recorder_unwind unwind);

#endif
