/* SPDX-License-Identifier: MIT */
/* Writes a struct profile as a processed profile, and in the Gecko format. */
#pragma once

#include "lib/format/format.h"

/* Implements write() of struct format. */
int firefox_write(const struct profile *p, const struct export_options *options,
		  struct outfile *out, struct export_counts *counts, struct error *err);
/*
 * Implements write() of struct format. A frame has either a name or an address: named frames lose
 * their address and line. A sample of larger weight becomes several. Omits samples of events other
 * than the clock, CPUs, overhead, rows of the info panel, stacks in fields of markers.
 */
int gecko_write(const struct profile *p, const struct export_options *options, struct outfile *out,
		struct export_counts *counts, struct error *err);
