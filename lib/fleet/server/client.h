/* SPDX-License-Identifier: MIT */
/* Sends one request to a server on the network, and reads its answer. */
#pragma once

#include "lib/base/base.h"

struct client_request {
	const char *method, *url;
	const char *const *headers; /* "Name: value" lines, NULL-terminated */
	const void *body; /* NULL: no body */
	size_t size;
	/*
	 * Maximum size of the answer, in bytes; a longer answer is a failure. 0: keep only its
	 * beginning.
	 */
	size_t answer_max;
	/* Called about once a second during the request; true cancels it. NULL: never cancelled. */
	bool (*is_over)(void *ctx);
	void *ctx;
	uint64_t stall_ns; /* maximum time without progress; 0: the default */
	/* Maximum time for the request; 0: none as long as it makes progress. */
	uint64_t timeout_ns;
	/* Use HTTP/2, by prior knowledge or as negotiated by TLS. */
	bool is_http2;
	/* Receives each header and trailer line; may be NULL. */
	void (*on_header)(void *ctx, const char *line, size_t size);
	void *header_ctx;
	/* Files of TLS; NULL or "": the machine's authorities, and no certificate. */
	const char *ca_file, *certificate_file, *key_file;
	uint64_t *retry_after_s; /* receives Retry-After, 0 if not given; may be NULL */
};

/* Loads everything that the first request would load. */
void client_prepare(void);
/*
 * Returns the HTTP status, and the body in `answer`. Follows no redirection. Returns a negative
 * errno with err if there is no answer: the network failed, or the server is not authentic.
 */
int client_send(const struct client_request *request, struct strbuf *answer, struct error *err);
