/* SPDX-License-Identifier: MIT */
/*
 * Messages of engines that accept pprof: one series for each resource, consisting of labels and a
 * profile. Both engines reject duplicate labels and sample names that are not words.
 */
#pragma once

#include "lib/fleet/collector.h"

/* Pyroscope's push.v1. It may accept only some series of a request, so a request has one series. */
extern const struct collector_form series_pyroscope;
/* Parca's WriteRaw. */
extern const struct collector_form series_parca;
