/* SPDX-License-Identifier: MIT */
/* An HTTP request and its response, independent of the transport. */
#pragma once

#include "lib/base/base.h"

/* Maximum size of a request's body; a server refuses more. */
#define HTTP_BODY_MAX ((size_t)4 << 20)

/* Everything is borrowed; missing headers are NULL. */
struct http_request {
	const char *method;
	const char *path; /* percent-decoded path without the query */
	const char *host, *origin, *cookie, *range, *accept_encoding;
	const char *wanted_headers; /* value of Access-Control-Request-Headers */
	const char *body; /* NUL-terminated; NULL: not read yet */
	size_t body_size;
};

struct http_header {
	char *name, *value; /* owned */
};

/* A zeroed struct is empty and has no status. */
struct http_response {
	unsigned int status;
	VEC(struct http_header) headers;
	char *body; /* owned */
	size_t size;
	int fd; /* server file that contains the body; 0: the body is in `body` */
	uint64_t offset; /* offset of the body in the file */
};

void http_response_release(struct http_response *r);
/* Copies name and value. A value with a control character is left out. */
void http_response_add(struct http_response *r, const char *name, const char *value);
/* Takes ownership of the body. */
void http_response_take(struct http_response *r, unsigned int status, const char *type, char *body,
			size_t size);

/*
 * Parses "bytes=A-B", "bytes=A-" and "bytes=-N" for a body of `size` bytes. Returns 206 and the
 * part, 416, or 200 if there is no range or it should be ignored.
 */
unsigned int http_range(const char *header, uint64_t size, uint64_t *offset, uint64_t *length);
