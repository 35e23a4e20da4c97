/* SPDX-License-Identifier: MIT */
/*
 * Lines of marker files, in which programs tell what they did and when. Times are CLOCK_MONOTONIC
 * ns, in decimal:
 *
 *	START END NAME		an interval; the name is the rest of the line
 *	i TIME NAME		an instant
 *	b TIME ID NAME		an interval begins; the id is any word
 *	e TIME ID		it ends
 *
 * The last three may end with words that say more: "@TID" the thread, "#CATEGORY", "key=value".
 */
#ifndef PROF_LIB_LIVE_CODE_SPAN_LINE_H
#define PROF_LIB_LIVE_CODE_SPAN_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Longer texts are cut; further attributes stay in the name. */
#define SPAN_TEXT_MAX 1024
#define SPAN_ATTRIBUTES_MAX 8
#define SPAN_KEY_MAX 32

/* Borrowed, not terminated. */
struct span_text {
	const char *at;
	size_t size;
};

struct span_attribute {
	struct span_text key, value;
};

enum span_line_kind {
	SPAN_WHOLE,
	SPAN_INSTANT,
	SPAN_BEGIN,
	SPAN_END,
};

struct span_line {
	enum span_line_kind kind;
	uint64_t start, end; /* equal, but for SPAN_WHOLE */
	struct span_text id; /* of SPAN_BEGIN and SPAN_END */
	struct span_text name; /* empty: SPAN_END */
	struct span_text category;
	uint32_t tid; /* 0: not said */
	size_t attribute_count;
	struct span_attribute attributes[SPAN_ATTRIBUTES_MAX]; /* in the line's order */
};

/* Parses a line without its end; `out` points into it. False: malformed. */
bool span_line_parse(const char *line, size_t size, struct span_line *out);

#endif
