/* SPDX-License-Identifier: MIT */
/*
 * Appends protocol buffer fields to bytes. Formats need few of them, written in one pass; a library
 * would first build the whole message in memory.
 */
#pragma once

#include "lib/base/base.h"

/* A cursor over the fields of an untrusted message. It returns nothing more after a failure. */

struct protobuf_cursor {
	const uint8_t *at, *end;
	bool failed;
};

struct protobuf_field {
	uint32_t number;
	bool is_bytes; /* the value is in `bytes`; otherwise in `value` */
	uint64_t value;
	struct protobuf_cursor bytes; /* string, message or packed numbers */
};

struct protobuf_cursor protobuf_cursor_of(const void *data, size_t size);
/* Returns false at the end, and after a failure. */
bool protobuf_next(struct protobuf_cursor *s, struct protobuf_field *field);
/* Copies a string up to its first NUL; free it. */
char *protobuf_text(const struct protobuf_cursor *s);
/* Reads the next of the packed numbers. */
bool protobuf_take(struct protobuf_cursor *s, uint64_t *value);
/* Takes the next of a field's numbers, packed or not. `is_fixed`: they have 8 bytes each. */
bool protobuf_take_of(struct protobuf_field *field, bool is_fixed, uint64_t *value);

void protobuf_varint(struct strbuf *out, uint64_t value);
/* Omits fields of value 0, the default. */
void protobuf_u64(struct strbuf *out, uint32_t field, uint64_t value);
/* Writes any value, since a reader may distinguish 0 from none. */
void protobuf_number(struct strbuf *out, uint32_t field, uint64_t value);
void protobuf_fixed64(struct strbuf *out, uint32_t field, uint64_t value);
/* A string, a message, or packed numbers; omitted if empty. */
void protobuf_bytes(struct strbuf *out, uint32_t field, const void *data, size_t size);
/* Appends the header of a string or message, whose bytes follow; for elements, even if empty. */
void protobuf_head(struct strbuf *out, uint32_t field, size_t size);
/*
 * Begins a message in place, whose fields are appended next. Returns the position to pass to
 * protobuf_end(). Messages may be nested.
 */
size_t protobuf_begin(struct strbuf *out, uint32_t field);
void protobuf_end(struct strbuf *out, size_t at);
