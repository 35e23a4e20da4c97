/* SPDX-License-Identifier: MIT */
/*
 * Messages of engines that accept pprof: one series for each resource, consisting of labels and a
 * profile. Both engines reject duplicate labels and sample names that are not words.
 */
#pragma once

#include "lib/fleet/collector.h"
#include "lib/fleet/engine.h"

/* Pyroscope's push.v1. It may accept only some series of a request, so a request has one series. */
extern const struct collector_form series_pyroscope;
/* Parca's WriteRaw. */
extern const struct collector_form series_parca;

/*
 * Reads profiles back from engines that accept pprof: each merges what matches the address into one
 * profile of one type. Pyroscope: querier.v1.QuerierService/SelectMergeProfile; Parca:
 * parca.query.v1alpha1.QueryService/Query.
 */

/* Form of an engine's question and answer. */
struct series_query {
	const char *path;
	/* Appends the request for the type of profile, and the samples that match the labels. */
	void (*ask)(const struct fleet_url *url, const char *type, const char *labels,
		    struct strbuf *out);
	/* Returns the pprof file in the answer, borrowed; NULL: there is none. */
	const char *(*take)(const struct strbuf *answer, size_t *size);
};

extern const struct series_query query_pyroscope, query_parca;

/*
 * Appends a pprof file, packed or not, to `out`. Without a time in the address, the engine is asked
 * for the last hour. Returns -ENODATA if nothing matches, or the errors of engine_post().
 */
int series_fetch(const struct engine *e, struct strbuf *out, struct error *err);
