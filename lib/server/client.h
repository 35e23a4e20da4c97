/* SPDX-License-Identifier: MIT */
/* Sends one request to a server on the network, and reads its answer. */
#ifndef PROF_LIB_SERVER_CLIENT_H
#define PROF_LIB_SERVER_CLIENT_H

#include "lib/base/error.h"
#include "lib/base/strbuf.h"

struct client_request {
	const char *method, *url;
	const char *const *headers; /* "Name: value", NULL-terminated */
	const void *body; /* NULL: there is none */
	size_t size;
};

/*
 * Returns the status of the answer, and the beginning of its text. Follows no redirection.
 * Negative, with err: there is none; the network is gone, or the server is not who it says.
 */
int client_send(const struct client_request *request, struct strbuf *answer, struct error *err);

#endif
