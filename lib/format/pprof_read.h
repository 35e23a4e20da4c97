/* SPDX-License-Identifier: MIT */
#ifndef PROF_LIB_FORMAT_PPROF_READ_H
#define PROF_LIB_FORMAT_PPROF_READ_H

#include "lib/format/format.h"

/*
 * Implement struct format. Each sample type becomes an event, named "type/unit" unless it counts;
 * counts of samples with a time type that is their multiple are those of the clock. Texts in labels
 * make threads. Negative values, of differences, are counted as unread.
 */
bool pprof_matches(const char *text, size_t size);
int pprof_read(struct profile **p, const char *text, size_t size, struct import_counts *counts,
	       struct error *err);

/* Does a sample type's unit need to be told? */
bool pprof_is_unit(const char *text);

#endif
