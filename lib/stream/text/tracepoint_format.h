/* SPDX-License-Identifier: MIT */
/*
 * Parses a tracepoint's `format` file in tracefs, and reads the fields from the bytes recorded by
 * the kernel: integers, and strings of fixed size or after a __data_loc. Pointers and other arrays
 * are left out.
 */
#pragma once

#include "bpf/config.h"
#include "lib/base/base.h"

#define TRACEPOINT_FIELDS_MAX 16
#define TRACEPOINT_KEY_SIZE 64

enum tracepoint_field_kind {
	TRACEPOINT_INTEGER,
	TRACEPOINT_TEXT, /* array of characters */
	TRACEPOINT_DYNAMIC_TEXT, /* word with offset and length of the string */
};

struct tracepoint_field {
	enum tracepoint_field_kind kind;
	char key[TRACEPOINT_KEY_SIZE]; /* an identifier; neither "type" nor "cause" */
	uint32_t offset, size; /* range in the recorded bytes */
	bool is_signed;
};

struct tracepoint_format {
	struct tracepoint_field fields[TRACEPOINT_FIELDS_MAX];
	uint32_t count;
	struct tracepoint_layout layout; /* bytes to record */
};

/*
 * Parses the text of a format file. Skips fields beyond the limits of size and number. Returns 0,
 * or -EBADMSG with err if the text is malformed or has no field.
 */
int tracepoint_format_parse(struct tracepoint_format *f, const char *name, const char *text,
			    size_t size, struct error *err);

struct tracepoint_value {
	const char *text; /* string in the bytes, not NUL-terminated; NULL: a number */
	size_t size;
	int64_t number;
};

/* Returns false if the bytes do not contain that field. */
bool tracepoint_field_read(const struct tracepoint_field *field, const void *bytes, size_t size,
			   struct tracepoint_value *value);
