/* SPDX-License-Identifier: MIT */
/* A profile as the text that a format makes of it. */
#ifndef PROF_LIB_FORMAT_WRITTEN_TEXT_H
#define PROF_LIB_FORMAT_WRITTEN_TEXT_H

#include "lib/format/format.h"

/*
 * Writes into a file in memory. Returns its descriptor, which the caller closes, and sets *size; a
 * negative errno with err set if that failed.
 */
int written_file(const struct format *format, const struct profile *p,
		 const struct export_options *options, struct export_counts *counts, bool gzip,
		 uint64_t *size, struct error *err);
/* The same as a text. Sets *text, terminated, which the caller frees. */
int written_text(const struct format *format, const struct profile *p,
		 const struct export_options *options, struct export_counts *counts, char **text,
		 size_t *size, struct error *err);

#endif
