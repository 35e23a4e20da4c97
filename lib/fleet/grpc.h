/* SPDX-License-Identifier: MIT */
/*
 * Unary calls of gRPC: one message each way, behind five bytes that say its size, and a status that
 * comes after the answer, or in place of it. What servers answer is not trusted.
 */
#ifndef PROF_LIB_FLEET_GRPC_H
#define PROF_LIB_FLEET_GRPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/strbuf.h"

/* Zeroed, nothing has come. */
struct grpc_answer {
	bool has_status;
	uint64_t status;
	char *words; /* why it failed, printable; owned; NULL: nothing was said */
	bool has_delay; /* the server says when to try again */
	uint64_t delay_s;
};

/* Appends a message as it is sent. False: it is too large. */
bool grpc_frame(const struct strbuf *message, bool is_packed, struct strbuf *out);
/* Takes a line of the answer's head, or of what comes after it; ctx is a struct grpc_answer. */
void grpc_answer_take(void *ctx, const char *line, size_t size);
/*
 * Returns the status that an answer by HTTP would have for the same: 200, or one from 400 on; those
 * of failures that may be over later are 429, 503 or 504, and that of messages which are too large
 * is 413. `http_status` is that of the answer that carried it. In `text`, the frame becomes its
 * message, or the words for what failed. *retry_after_s is set, or left.
 * Negative, with err: it is no answer of gRPC.
 */
int grpc_answer_judge(const struct grpc_answer *a, int http_status, struct strbuf *text,
		      uint64_t *retry_after_s, struct error *err);
void grpc_answer_release(struct grpc_answer *a);

#endif
