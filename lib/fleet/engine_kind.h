/* SPDX-License-Identifier: MIT */
/* Kinds of engines: address, protocol and message format. A new kind is a row in engine_kind.c. */
#pragma once

#include "lib/fleet/collector.h"
#include "lib/fleet/series.h"

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
