/* SPDX-License-Identifier: MIT */
/*
 * Authorizes requests. Rejects requests without the token in the path, with another Host, or from a
 * page whose origin is not the front-end's.
 */
#pragma once

#include "cmd/net/api.h"

/* 192 bits in base64url. */
#define VIEW_TOKEN_SIZE 32

struct viewer {
	struct api api;
	char token[VIEW_TOKEN_SIZE + 1];
	/*
	 * Cookie for clients that have presented the token; admits requests for the front-end's own
	 * files.
	 */
	char ticket[VIEW_TOKEN_SIZE + 1];
	uint16_t port;
	char *origin; /* origin of the front-end, "https://…"; owned */
	char *front_end; /* address of the front-end without a final slash; owned */
	int folder; /* open folder with a local build of the front-end; 0: remote front-end */
	int page; /* open page to show instead of a front-end; 0: none */
	uint64_t page_size;
};

/* Makes token and ticket. */
int viewer_init(struct viewer *v, struct error *err);
/* `front_end`: an address; NULL: the files in v->folder. Call once the port is known. */
void viewer_set_front_end(struct viewer *v, const char *front_end);
void viewer_release(struct viewer *v);

/* Makes a page of one or two files, and serves it instead of a front-end. */
int viewer_make_page(struct viewer *v, const char *const *paths, size_t count, struct error *err);
/* Returns the address to open in a browser, to be freed. */
char *viewer_url(const struct viewer *v);
/* A server_answer_fn; `ctx` is the viewer. */
void viewer_answer(void *ctx, const struct http_request *request, struct http_response *response);
