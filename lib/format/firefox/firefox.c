/* SPDX-License-Identifier: MIT */
#include "lib/format/format.h"

#include <string.h>

#include "lib/format/firefox/read/gecko_read.h"
#include "lib/format/firefox/read/firefox_read.h"
#include "lib/format/firefox/write/gecko_write.h"
#include "lib/format/firefox/write/firefox_write.h"

/* Accepts any JSON object: only reading determines its kind. */
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
	.has_comparison = true,
	.matches = firefox_matches,
	.is_asked_last = true,
	.read = firefox_read,
	.write = firefox_write,
};

const struct format format_gecko = {
	.name = "gecko",
	.is_timeline = true,
	.suffixes = (const char *const[]){".gecko.json", NULL},
	.matches = gecko_matches,
	.read = gecko_read,
	.write = gecko_write,
};
