/* SPDX-License-Identifier: MIT */
/* Commands that only launch others: "podman run IMAGE PROGRAM". */
#ifndef PROF_LIB_RECORDING_LAUNCHED_H
#define PROF_LIB_RECORDING_LAUNCHED_H

#include "lib/model/tables/profile.h"

/*
 * Names the profile after what ran in the container if the recorded command is a launcher of
 * containers: the process with more than half of all CPU time, else the container's first one.
 * Nothing if less than half was used there. Call when all samples have their CPU time.
 */
void launched_name_profile(struct profile *p);

#endif
