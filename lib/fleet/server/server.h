/* SPDX-License-Identifier: MIT */
/*
 * Serves HTTP on 127.0.0.1. Requests that are slow, too large or too many are refused before
 * anybody sees them.
 */
#ifndef PROF_LIB_FLEET_SERVER_SERVER_H
#define PROF_LIB_FLEET_SERVER_SERVER_H

#include <stdint.h>

#include "lib/base/error.h"
#include "lib/fleet/server/http.h"

struct server;

/*
 * Answers a request; called from several threads at once. Called first without a body (NULL), when
 * only the headers are there: a status then refuses it, 0 lets it go on. With a body, sets a
 * status.
 */
typedef void server_answer_fn(void *ctx, const struct http_request *request,
			      struct http_response *response);

/*
 * Returns a socket that listens on *port of 127.0.0.1; 0: on a free one, which is stored there.
 */
int server_listen(uint16_t *port, struct error *err);
/* Takes the socket over. */
int server_start(struct server **out, int listener, server_answer_fn *answer, void *ctx,
		 struct error *err);
/* CLOCK_MONOTONIC of the last request, or of the start. */
uint64_t server_last_ns(const struct server *s);
/* Waits for answers that are under way. NULL is fine. */
void server_stop(struct server *s);

#endif
