/* SPDX-License-Identifier: MIT */
/*
 * Spans between pairs of user probes (USDT) that a thread passes: "query__start" and "query__done".
 * Names follow no standard; the pairs are those that programs use.
 */
#pragma once

#include "lib/model/tables/profile.h"

/*
 * Extends the marker of each first probe to the matching second one, as nested calls match. Keeps
 * the markers of second probes, and first ones without a match, as instants. Call once all markers
 * are there.
 */
void probe_spans_join(struct profile *p);
