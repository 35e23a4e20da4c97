/* SPDX-License-Identifier: MIT */
/* Writes a struct profile as a processed profile. */
#ifndef PROF_LIB_FORMAT_FIREFOX_WRITE_FIREFOX_WRITE_H
#define PROF_LIB_FORMAT_FIREFOX_WRITE_FIREFOX_WRITE_H

#include "lib/format/format.h"

/* Implements write() of struct format. */
int firefox_write(const struct profile *p, const struct export_options *options,
		  struct outfile *out, struct export_counts *counts, struct error *err);

#endif
