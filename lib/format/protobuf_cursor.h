/* SPDX-License-Identifier: MIT */
/* A cursor over the fields of an untrusted message. Once it fails, it returns nothing more. */
#ifndef PROF_LIB_FORMAT_PROTOBUF_CURSOR_H
#define PROF_LIB_FORMAT_PROTOBUF_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct protobuf_cursor {
	const uint8_t *at, *end;
	bool failed;
};

struct protobuf_field {
	uint32_t number;
	bool is_bytes; /* `bytes` holds it, else `value` */
	uint64_t value;
	struct protobuf_cursor bytes; /* a string, a message, or packed numbers */
};

struct protobuf_cursor protobuf_cursor_of(const void *data, size_t size);
/* Returns false at the end, and after a failure. */
bool protobuf_next(struct protobuf_cursor *s, struct protobuf_field *field);
/* Takes one number off packed ones. */
bool protobuf_take(struct protobuf_cursor *s, uint64_t *value);

#endif
