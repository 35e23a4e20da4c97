/* SPDX-License-Identifier: MIT */
/* Property of every name and file that is read from a process. */
#pragma once

#include "lib/base/base.h"
#include "tests/fuzz/input.h"

/* UTF-8 without NUL. */
static inline void check_text(const struct strbuf *text)
{
	const char *at = strbuf_text(text), *end = at + text->size;

	while (at < end) {
		size_t size = text_utf8_length(at, (size_t)(end - at));

		require(size && *at);
		at += size;
	}
}
