/* SPDX-License-Identifier: MIT */
/* Commands that only launch others: "podman run IMAGE PROGRAM". */
#pragma once

#include "lib/model/tables/profile.h"

/*
 * If the recorded command launches containers, names the profile after the program in the
 * container: the process with more than half of all CPU time, or else the container's first one.
 * Does nothing if the container used less than half. Call when all samples have their CPU time.
 */
void launched_name_profile(struct profile *p);
