/* SPDX-License-Identifier: MIT */
/* A flame graph of the difference between two profiles as a standalone HTML file. */
#ifndef PROF_LIB_FORMAT_FLAMEGRAPH_H
#define PROF_LIB_FORMAT_FLAMEGRAPH_H

#include "lib/format/format.h"

/* Behaves as write() of struct format. */
int flamegraph_write_html(const struct profile *p, const struct export_options *options,
			  struct outfile *out, struct error *err);

#endif
