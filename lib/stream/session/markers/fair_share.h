/* SPDX-License-Identifier: MIT */
/* Divides room among kinds of which some need little. */
#ifndef PROF_LIB_STREAM_SESSION_MARKERS_FAIR_SHARE_H
#define PROF_LIB_STREAM_SESSION_MARKERS_FAIR_SHARE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Returns the most that each kind may have of `max`, where kinds that need less leave the rest to
 * the others; UINT64_MAX: there is room for all. Sorts the counts.
 */
uint64_t fair_share(uint64_t *counts, size_t kinds, uint64_t max);

#endif
