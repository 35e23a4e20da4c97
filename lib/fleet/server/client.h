/* SPDX-License-Identifier: MIT */
/* Sends one request to a server on the network, and reads its answer. */
#ifndef PROF_LIB_FLEET_SERVER_CLIENT_H
#define PROF_LIB_FLEET_SERVER_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/strbuf.h"

struct client_request {
	const char *method, *url;
	const char *const *headers; /* "Name: value", NULL-terminated */
	const void *body; /* NULL if none */
	size_t size;
	/* A longer answer is a failure; 0: its beginning is enough. */
	size_t answer_max;
	/* Called about once a second while it lasts; true gives it up. NULL: not at all. */
	bool (*is_over)(void *ctx);
	void *ctx;
	uint64_t stall_ns; /* without progress it is given up after this time; 0: the default */
	uint64_t timeout_ns; /* of all of it; 0: as long as it moves */
	/* It is sent by HTTP/2, from its beginning or as TLS agrees on it. */
	bool is_http2;
	/* Gets each line before and after the answer's text; NULL: nobody reads them. */
	void (*on_header)(void *ctx, const char *line, size_t size);
	void *header_ctx;
	/* Files of TLS; NULL or "": the machine's authorities, and no certificate. */
	const char *ca_file, *certificate_file, *key_file;
	uint64_t *retry_after_s; /* gets what the server asks for; 0: nothing. NULL: nobody asks */
};

/* Loads what the first request would load. */
void client_prepare(void);
/*
 * Returns the status of the answer, and its text. Follows no redirection.
 * Negative, with err, without an answer: the network is gone, or the server is not authentic.
 */
int client_send(const struct client_request *request, struct strbuf *answer, struct error *err);

#endif
