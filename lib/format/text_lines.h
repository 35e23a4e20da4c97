/* SPDX-License-Identifier: MIT */
/* Iterates over lines of untrusted text without a terminating NUL. */
#pragma once

#include "lib/base/infile.h"

struct text_lines {
	const char *at, *end;
	size_t number; /* number of the last line, counted from 1 */
};

struct text_line {
	const char *text, *end; /* line without its newline and carriage return */
};

static inline struct text_lines text_lines_of(const char *text, size_t size)
{
	return (struct text_lines){.at = text, .end = text + size};
}

static inline bool text_lines_next(struct text_lines *s, struct text_line *line)
{
	const char *newline;

	if (s->at == s->end)
		return false;
	newline = memchr(s->at, '\n', (size_t)(s->end - s->at));
	line->text = s->at;
	line->end = newline ? newline : s->end;
	s->at = newline ? newline + 1 : s->end;
	if (line->end > line->text && line->end[-1] == '\r')
		line->end--;
	if (++s->number % 1024 == 0)
		infile_pass(s->at);
	return true;
}
