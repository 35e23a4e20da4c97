/* SPDX-License-Identifier: MIT */
#include "lib/format/format.h"

#include <string.h>

#include "lib/format/firefox/read/read.h"
#include "lib/format/firefox/write/write.h"

/* Accepts any JSON object: only reading it tells which kind it is. */
static bool firefox_matches(const char *text, size_t size)
{
	size_t at = 0;

	while (at < size && strchr(" \t\r\n", text[at]) && text[at])
		at++;
	return at < size && text[at] == '{';
}

const struct format format_firefox = {
	.name = "firefox",
	.is_timeline = true,
	.suffixes = (const char *const[]){".json", NULL},
	.matches = firefox_matches,
	.read = firefox_read,
	.write = firefox_write,
};
