/* SPDX-License-Identifier: MIT */
/*
 * Answers requests of front-ends to a symbol server, version 5 of that interface: JSON in and out.
 * An invalid request is answered by an object with "error".
 */
#pragma once

#include "cmd/net/viewed_profile.h"
#include "lib/fleet/server/http.h"

struct api {
	struct viewed_profile *profiles; /* borrowed */
	size_t count;
};

/* Answers a POST to "symbolicate/v5", "source/v1" or "asm/v1". False for other paths. */
bool api_answer(const struct api *api, const char *path, const struct http_request *request,
		struct http_response *response);
/* True if api_answer() serves the path. */
bool api_has(const char *path);
