/* SPDX-License-Identifier: MIT */
/* The cache of perf: files of recordings by build id, in the user's ~/.debug. */
#ifndef PROF_LIB_RECORDING_WORKPLACE_PERF_CACHE_H
#define PROF_LIB_RECORDING_WORKPLACE_PERF_CACHE_H

#include "lib/base/identity.h"

/*
 * Returns the folder of the user, who owns it; NULL: there is none, or another one could have
 * filled it. The caller frees.
 */
char *perf_cache_folder(const struct identity *user);

#endif
