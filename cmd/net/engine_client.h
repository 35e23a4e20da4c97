/* SPDX-License-Identifier: MIT */
/* Requests to engines, as both processes send them that do. */
#ifndef PROF_CMD_NET_ENGINE_CLIENT_H
#define PROF_CMD_NET_ENGINE_CLIENT_H

#include "lib/fleet/server/client.h"

/*
 * Posts a request, of gRPC if it is by HTTP/2: client_send() for engines. *retry_after_s is what
 * the engine asks for, 0: nothing; NULL: nobody asks.
 */
int engine_client_send(const struct client_request *request, struct strbuf *answer,
		       uint64_t *retry_after_s, struct error *err);

#endif
