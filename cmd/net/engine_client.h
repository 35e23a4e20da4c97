/* SPDX-License-Identifier: MIT */
/* The programs of prof-view, and requests to engines for those that talk to them. */
#pragma once

#include "cmd/options/option_table.h"
#include "lib/fleet/server/client.h"

/*
 * client_send() for engines: posts a request, using HTTP/2 for gRPC. *retry_after_s gets the delay
 * that the engine requests, 0 for none; may be NULL.
 */
int engine_client_send(const struct client_request *request, struct strbuf *answer,
		       uint64_t *retry_after_s, struct error *err);

/* The commands of prof-view, which prof executes. argv[0] is the command's name. */

int view_run(int argc, char **argv);
int share_run(int argc, char **argv);
/* Serves a request, see lib/fleet/request_process.h. Returns the exit status. */
int request_run(void);
/* Serves as a pusher, see lib/fleet/request_process.h. argv[0] is PUSH_PROCESS. */
int push_run(int argc, char **argv);
/* Functions of struct command. */
void view_options(struct option_table *t, void *ctx);
void share_options(struct option_table *t, void *ctx);
