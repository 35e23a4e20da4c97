/* SPDX-License-Identifier: MIT */
/*
 * Sends requests to an engine from a separate unprivileged process, the only one that uses the
 * network. The process runs prof-view, which links the network library.
 */
#pragma once

#include "lib/fleet/engine.h"

/* The argument that makes prof-view serve a request. */
#define REQUEST_PROCESS "__request"

/* An engine_send_fn; ctx is not used. */
int request_process_send(void *ctx, const struct engine_request *request, struct strbuf *answer,
			 struct error *err);

/*
 * Protocol: the process reads a request from standard input: the URL, TLS files (or empty strings),
 * the timeout in ns, "grpc" or an empty string, headers and an empty string, each terminated, then
 * the body. It writes the status as int32_t, then the answer; or a negative errno, then the error
 * message.
 */
struct request_message {
	const char *url;
	const char *tls_files[FLEET_TLS_COUNT];
	uint64_t timeout_ns;
	bool is_grpc;
	VEC(const char *) headers; /* NULL-terminated; the terminator is not counted */
	const char *body;
	size_t size;
};

/* Writes all bytes. Returns false with errno set on failure. */
bool request_write(int fd, const void *data, size_t size);
/* Writes a terminated string; NULL is "". */
bool request_write_text(int fd, const char *text);

/* Borrows the text, which is terminated. False if it is not a valid request. */
bool request_message_read(struct request_message *m, const char *text, size_t size);
