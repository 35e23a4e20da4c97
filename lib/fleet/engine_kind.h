/* SPDX-License-Identifier: MIT */
/* Kinds of engines: address, protocol and message format. A new kind is a row in engine_kind.c. */
#pragma once

#include "lib/fleet/collector.h"
#include "lib/fleet/engine.h"

/*
 * Messages of engines that accept pprof: one series for each resource, consisting of labels and a
 * profile. Both engines reject duplicate labels and sample names that are not words.
 */

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

struct engine_kind {
	const char *scheme; /* may be followed by "s" */
	uint16_t port, secure_port; /* default ports */
	/* Messages of a collector, and the path of its requests; NULL: a database. */
	const struct collector_form *form;
	const char *path;
	const char *content_type; /* content type of requests */
	bool is_grpc; /* requests are gRPC calls over HTTP/2 */
	const struct series_query *query; /* for reading from a collector; NULL: unsupported */
};

/* Ends with a row without a scheme. */
extern const struct engine_kind engine_kinds[];

/* Collectors only take samples. */
static inline bool engine_kind_is_collector(const struct engine_kind *kind)
{
	return kind->form != NULL;
}
