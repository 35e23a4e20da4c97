/* SPDX-License-Identifier: MIT */
/* A flame graph alone as an HTML file: what differs between two profiles. */
#ifndef PROF_LIB_FORMAT_FLAMEGRAPH_H
#define PROF_LIB_FORMAT_FLAMEGRAPH_H

#include "lib/format/format.h"

/* Does what a format's write() does. */
int flamegraph_write_html(const struct profile *p, const struct export_options *options,
			  struct outfile *out, struct error *err);

#endif
