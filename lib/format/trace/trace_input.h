/* SPDX-License-Identifier: MIT */
/*
 * A window over untrusted JSON text of any size, in memory or in a file. If the window ends before
 * a value does, more of the file is read and the value is parsed again:
 *
 *	do {
 *		s = in->s;
 *	} while (!parse(&s) && trace_input_more(in));
 *	in->s.at = s.at;	// spans of the value are valid until the next call
 */
#pragma once

#include "lib/base/json/cursor.h"

struct trace_input {
	struct json_cursor s; /* at the next byte of the window */
	uint64_t base; /* offset of the window in the file */
	uint64_t size; /* of the file */
	int fd; /* -1: the window is the whole text */
	char *buffer;
	size_t room;
};

void trace_input_of_text(struct trace_input *in, const char *text, size_t size);
void trace_input_of_file(struct trace_input *in, int fd, uint64_t size);
void trace_input_release(struct trace_input *in);
/* Skips white space and these characters. Returns the next one without consuming it; '\0': none. */
char trace_input_next(struct trace_input *in, const char *skipped);
/* Reads more. Returns false if nothing follows the window, or a value is too large for it. */
bool trace_input_more(struct trace_input *in);
/* Returns to the start. */
void trace_input_rewind(struct trace_input *in);
/* Copies up to `size` bytes from an offset in the file. Returns their number. */
size_t trace_input_copy(const struct trace_input *in, uint64_t offset, char *to, size_t size);
