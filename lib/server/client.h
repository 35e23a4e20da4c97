/* SPDX-License-Identifier: MIT */
/* Sends one request to a server on the network, and reads its answer. */
#ifndef PROF_LIB_SERVER_CLIENT_H
#define PROF_LIB_SERVER_CLIENT_H

#include "lib/base/error.h"
#include "lib/base/strbuf.h"

struct client_request {
	const char *method, *url;
	const char *const *headers; /* "Name: value", NULL-terminated */
	const void *body; /* NULL if none */
	size_t size;
	/* A longer answer is a failure; 0: its beginning is enough. */
	size_t answer_max;
};

/*
 * Returns the status of the answer, and its text. Follows no redirection.
 * Negative, with err, without an answer: the network is gone, or the server is not authentic.
 */
int client_send(const struct client_request *request, struct strbuf *answer, struct error *err);

#endif
