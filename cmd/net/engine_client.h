/* SPDX-License-Identifier: MIT */
/* Sends requests to engines, for both processes that talk to them. */
#pragma once

#include "lib/fleet/server/client.h"

/*
 * client_send() for engines: posts a request, using HTTP/2 for gRPC. *retry_after_s gets the delay
 * that the engine requests, 0 for none; may be NULL.
 */
int engine_client_send(const struct client_request *request, struct strbuf *answer,
		       uint64_t *retry_after_s, struct error *err);
