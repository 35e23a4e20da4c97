/* SPDX-License-Identifier: MIT */
/*
 * Random points along a line, one in each interval. Pieces of the line weigh as many as lie in
 * them: few pieces stand for all, each by its length, and no rhythm can fall in step with them.
 */
#ifndef PROF_LIB_STREAM_SESSION_WAITS_POINTS_H
#define PROF_LIB_STREAM_SESSION_WAITS_POINTS_H

#include <stdint.h>

/* Counts the points before a position; interval number k has one of them. */
double points_before(uint64_t seed, double position, double interval);

#endif
