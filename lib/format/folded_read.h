/* SPDX-License-Identifier: MIT */
#ifndef PROF_LIB_FORMAT_FOLDED_READ_H
#define PROF_LIB_FORMAT_FOLDED_READ_H

#include "lib/format/format.h"

/*
 * Implement struct format. All stacks are of one thread. Endings _[k], _[i] and _[j] of names, of
 * kernel, inlined and just-in-time compiled code, stay in them; the first two count.
 */
bool folded_matches(const char *text, size_t size);
int folded_read(struct profile **p, const char *text, size_t size, struct import_counts *counts,
		struct error *err);

#endif
