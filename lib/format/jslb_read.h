/* SPDX-License-Identifier: MIT */
#ifndef PROF_LIB_FORMAT_JSLB_READ_H
#define PROF_LIB_FORMAT_JSLB_READ_H

#include "lib/format/format.h"

/* Implement struct format: the file is unpacked to JSON, a processed profile of any version. */
bool jslb_matches(const char *text, size_t size);
int jslb_read(struct profile **p, const char *text, size_t size, struct import_counts *counts,
	      struct error *err);

#endif
