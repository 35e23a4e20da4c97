/* SPDX-License-Identifier: MIT */
/* A processed profile as a struct profile. */
#ifndef PROF_LIB_FORMAT_FIREFOX_READ_READ_H
#define PROF_LIB_FORMAT_FIREFOX_READ_READ_H

#include "lib/format/format.h"

/*
 * As struct format has it. Versions 60 to 70, of any writer. Rows of events that prof made of a
 * thread's samples become part of them again, those of CPUs tell where each was taken.
 */
int firefox_read(struct profile **p, const char *text, size_t size, struct import_counts *counts,
		 struct error *err);

#endif
