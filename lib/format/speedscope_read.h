/* SPDX-License-Identifier: MIT */
#ifndef PROF_LIB_FORMAT_SPEEDSCOPE_READ_H
#define PROF_LIB_FORMAT_SPEEDSCOPE_READ_H

#include "lib/format/format.h"

/*
 * Implement struct format. Each profile of the file is a thread. Weights in a unit of time are
 * ticks of the clock, which is as fast as the shortest of them; the others are a profile without
 * times.
 */
bool speedscope_matches(const char *text, size_t size);
int speedscope_read(struct profile **p, const char *text, size_t size, struct import_counts *counts,
		    struct error *err);

#endif
