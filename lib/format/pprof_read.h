/* SPDX-License-Identifier: MIT */
#ifndef PROF_LIB_FORMAT_PPROF_READ_H
#define PROF_LIB_FORMAT_PPROF_READ_H

#include "lib/format/format.h"

/*
 * Implement struct format. Each sample type becomes an event, named "type/unit" unless it counts.
 * Counts of samples become clock ticks if a time type is their multiple. Texts in labels make
 * threads. Negative values, as in differences, count as unread.
 */
bool pprof_matches(const char *text, size_t size);
int pprof_read(struct profile **p, const char *text, size_t size, struct import_counts *counts,
	       struct error *err);

/* True if the unit of a sample type must be shown. */
bool pprof_is_unit(const char *text);

#endif
