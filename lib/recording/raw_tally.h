/* SPDX-License-Identifier: MIT */
/* Counts records that no session sees, for progress and for the instruments' reports. */
#ifndef PROF_LIB_RECORDING_RAW_TALLY_H
#define PROF_LIB_RECORDING_RAW_TALLY_H

#include "bpf/record.h"
#include "lib/model/tables/profile.h"

/* Adds the record to the counts of the profile, which holds nothing else. */
void raw_tally(struct profile *p, const struct rec *rec);

#endif
