/* SPDX-License-Identifier: MIT */
/*
 * Decides who may ask for what: nothing is answered without the token in the path, with the name of
 * another host, or to a page of another origin than the front-end's.
 */
#ifndef PROF_CMD_NET_VIEWER_H
#define PROF_CMD_NET_VIEWER_H

#include "cmd/net/api.h"

/* 192 bits in base64url. */
#define VIEW_TOKEN_SIZE 32

struct viewer {
	struct api api;
	char token[VIEW_TOKEN_SIZE + 1];
	/* Stands in a cookie for those who came with the token, for the front-end's own files. */
	char ticket[VIEW_TOKEN_SIZE + 1];
	uint16_t port;
	char *origin; /* of the front-end, "https://…"; owned */
	char *front_end; /* its address without a slash at the end; owned */
	int folder; /* a built front-end, open; 0: it is elsewhere */
	int page; /* a page in place of a front-end, open; 0: none */
	uint64_t page_size;
};

/* Makes token and ticket. */
int viewer_init(struct viewer *v, struct error *err);
/* `front_end`: an address, NULL: its files are in v->folder. Call when the port is known. */
void viewer_set_front_end(struct viewer *v, const char *front_end);
void viewer_release(struct viewer *v);

/* Writes the first profile, of one file or two, as the page that is shown, not a front-end. */
int viewer_make_page(struct viewer *v, const char *const *paths, size_t count, struct error *err);
/* The address to open in a browser; to be freed. */
char *viewer_url(const struct viewer *v);
/* Is a server_answer_fn; `ctx` is the viewer. */
void viewer_answer(void *ctx, const struct http_request *request, struct http_response *response);

#endif
