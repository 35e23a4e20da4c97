/* SPDX-License-Identifier: MIT */
/*
 * Unary gRPC calls: one message each way, prefixed with its size in five bytes, and a status that
 * follows the answer or replaces it. Answers of servers are untrusted.
 */
#pragma once

#include "lib/base/base.h"

/* A zeroed struct is an answer without headers. */
struct grpc_answer {
	bool has_status;
	uint64_t status;
	char *words; /* grpc-message, the reason of a failure; printable, owned; NULL: not given */
	bool has_delay; /* the server gave a delay before the next attempt */
	uint64_t delay_s;
};

/* Appends a message in its wire format. False if it is too large. */
bool grpc_frame(const struct strbuf *message, bool is_packed, struct strbuf *out);
/* Parses a header or trailer line of the answer; ctx is a struct grpc_answer. */
void grpc_answer_take(void *ctx, const char *line, size_t size);
/*
 * Returns the equivalent HTTP status: 200, or 400 and above. Temporary failures are 429, 503 or
 * 504; a message that is too large is 413. `http_status` is that of the HTTP response. Replaces the
 * framed message in `text` by the plain one, or by the reason of the failure. Sets *retry_after_s
 * if the server gave a time. Returns a negative errno with err if it is not a gRPC answer.
 */
int grpc_answer_judge(const struct grpc_answer *a, int http_status, struct strbuf *text,
		      uint64_t *retry_after_s, struct error *err);
void grpc_answer_release(struct grpc_answer *a);
