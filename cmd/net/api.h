/* SPDX-License-Identifier: MIT */
/*
 * Answers what front-ends ask a symbol server for, by version 5 of that interface: requests and
 * answers are JSON. A wrong request gets an object with "error".
 */
#ifndef PROF_CMD_NET_API_H
#define PROF_CMD_NET_API_H

#include "cmd/net/viewed_profile.h"
#include "lib/fleet/server/http.h"

struct api {
	struct viewed_profile *profiles; /* borrowed */
	size_t count;
};

/* Answers a POST to "symbolicate/v5", "source/v1" or "asm/v1"; false: there is no such path. */
bool api_answer(const struct api *api, const char *path, const struct http_request *request,
		struct http_response *response);
/* True if api_answer() knows the path. */
bool api_has(const char *path);

#endif
