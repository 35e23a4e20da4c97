/* SPDX-License-Identifier: MIT */
/* Reads a Gecko profile as a struct profile. */
#pragma once

#include "lib/format/format.h"

/* Implement struct format for versions 3 and newer. */
bool gecko_matches(const char *text, size_t size);
/* Drops and counts the same parts as firefox_read(), and the JavaScript tracer with its values. */
int gecko_read(struct profile **p, const char *text, size_t size, struct import_counts *counts,
	       struct error *err);
