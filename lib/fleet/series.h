/* SPDX-License-Identifier: MIT */
/*
 * Messages of engines that take pprof: a series for each resource, which is labels and a profile.
 * Both engines refuse labels that are there twice and names of samples that are no words.
 */
#ifndef PROF_LIB_FLEET_SERIES_H
#define PROF_LIB_FLEET_SERIES_H

#include "lib/fleet/collector.h"

/* Pyroscope's push.v1, which may take some of the series of a request: each has one. */
extern const struct collector_form series_pyroscope;
/* Parca's WriteRaw. */
extern const struct collector_form series_parca;

#endif
