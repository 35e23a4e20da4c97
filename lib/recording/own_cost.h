/* SPDX-License-Identifier: MIT */
/* Fills the profile with what recording itself took, from the facts that the recorder told. */
#ifndef PROF_LIB_RECORDING_OWN_COST_H
#define PROF_LIB_RECORDING_OWN_COST_H

#include "lib/live/recorder.h"
#include "lib/model/tables/profile.h"

/* Sets the profile's overhead. Its samples and losses must be complete. */
void own_cost_fill(struct profile *p, const struct recorder_info *info, const struct facts *facts);

#endif
