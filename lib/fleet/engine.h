/* SPDX-License-Identifier: MIT */
/* An engine that stores samples: one request, one answer. Answers are untrusted. */
#pragma once

#include "lib/base/bytes.h"
#include "lib/fleet/fleet_url.h"

/* Maximum size of an answer, in bytes; above any profile of many machines. */
#define ENGINE_ANSWER_MAX ((size_t)256 << 20)

struct engine_request {
	const char *url;
	const char *const *headers; /* "Name: value" lines, NULL-terminated */
	const void *body;
	size_t size;
	const struct fleet_url *to; /* address, with its TLS files, timeout and compression */
};

/*
 * Returns the HTTP status and the answer of at most ENGINE_ANSWER_MAX bytes; a negative errno with
 * err if there is no answer.
 */
typedef int engine_send_fn(void *ctx, const struct engine_request *request, struct strbuf *answer,
			   struct error *err);

/* Borrows all of it. */
struct engine {
	const struct fleet_url *url;
	const char *password; /* NULL: none */
	engine_send_fn *send;
	void *ctx;
};

/*
 * Runs a statement. If the engine rejects it, returns -EREMOTEIO, -EBADRQC if it is wrong in itself
 * or -EMSGSIZE if it is too large, with the engine's message in err. `is_outside`: the database
 * need not exist.
 */
int engine_run(const struct engine *e, const char *sql, bool is_outside, struct strbuf *answer,
	       struct error *err);
/* Inserts rows in RowBinary format into a table. */
int engine_insert(const struct engine *e, const char *table, const struct strbuf *rows,
		  struct error *err);
/* Sends a message to a collector. */
int engine_post(const struct engine *e, const struct strbuf *body, struct strbuf *answer,
		struct error *err);
/* Runs a statement whose result is one number. */
int engine_number(const struct engine *e, const char *sql, bool is_outside, uint64_t *number,
		  struct error *err);
/* Reports an unexpected answer. Returns -EBADMSG. */
int engine_damaged(struct error *err);

/* RowBinary: plain numbers; strings and arrays follow their length. */
void rows_add_u8(struct strbuf *rows, uint8_t value);
void rows_add_u16(struct strbuf *rows, uint16_t value);
void rows_add_u32(struct strbuf *rows, uint32_t value);
void rows_add_u64(struct strbuf *rows, uint64_t value);
void rows_add_count(struct strbuf *rows, uint64_t count);
void rows_add_text(struct strbuf *rows, const char *text);
/* Reads a string, with NUL replaced by '?'; the caller frees it. "" after the end. */
char *rows_take_text(struct bytes *b);
/* Reads the length of an array whose elements have at least `element_size` bytes each. */
size_t rows_take_count(struct bytes *b, size_t element_size);
