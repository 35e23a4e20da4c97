/* SPDX-License-Identifier: MIT */
#pragma once

#include "lib/format/format.h"

/*
 * Implement struct format. Each sample type becomes an event; counts of samples become clock ticks
 * if a time type is their multiple. Labels that are ids or names make threads, others make markers.
 * Negative values, as in differences, count as unread.
 */
bool pprof_matches(const char *text, size_t size);
int pprof_read(struct profile **p, const char *text, size_t size, struct import_counts *counts,
	       struct error *err);
