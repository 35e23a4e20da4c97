/* SPDX-License-Identifier: MIT */
/* A marker at the end of a recording that did not end by itself. */
#ifndef PROF_LIB_PROFILE_CUT_MARKER_H
#define PROF_LIB_PROFILE_CUT_MARKER_H

#include "lib/profile/profile.h"

/* Adds it to the main thread of the root process, else to the first thread. */
void cut_marker_add(struct profile *p, uint64_t time);

#endif
