/* SPDX-License-Identifier: MIT */
/* Reads a Gecko profile as a struct profile. */
#ifndef PROF_LIB_FORMAT_FIREFOX_READ_GECKO_READ_H
#define PROF_LIB_FORMAT_FIREFOX_READ_GECKO_READ_H

#include "lib/format/format.h"

/* Implement struct format for versions 3 and newer. */
bool gecko_matches(const char *text, size_t size);
/* Drops, and counts, what firefox_read() does; JavaScript's tracer and its values, too. */
int gecko_read(struct profile **p, const char *text, size_t size, struct import_counts *counts,
	       struct error *err);

#endif
