/* SPDX-License-Identifier: MIT */
/*
 * Serves HTTP on 127.0.0.1. Rejects requests that are slow, too large or too many before they reach
 * the handler.
 */
#pragma once

#include "lib/base/base.h"
#include "lib/fleet/server/http.h"

struct server;

/*
 * Answers a request; called from several threads at once. The first call has the headers but no
 * body (NULL): a status rejects the request, 0 accepts it. The call with the body must set a
 * status.
 */
typedef void server_answer_fn(void *ctx, const struct http_request *request,
			      struct http_response *response);

/* Returns a socket that listens on 127.0.0.1:*port. A port of 0 is replaced by a free one. */
int server_listen(uint16_t *port, struct error *err);
/* Takes ownership of the socket. */
int server_start(struct server **out, int listener, server_answer_fn *answer, void *ctx,
		 struct error *err);
/* CLOCK_MONOTONIC of the last request, or of the start. */
uint64_t server_last_ns(const struct server *s);
/* Waits for pending responses. Accepts NULL. */
void server_stop(struct server *s);
