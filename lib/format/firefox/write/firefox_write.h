/* SPDX-License-Identifier: MIT */
/* Writes a struct profile as a processed profile. */
#pragma once

#include "lib/format/format.h"

/* Implements write() of struct format. */
int firefox_write(const struct profile *p, const struct export_options *options,
		  struct outfile *out, struct export_counts *counts, struct error *err);
