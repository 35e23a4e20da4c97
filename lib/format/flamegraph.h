/* SPDX-License-Identifier: MIT */
/* A flame graph of the difference between two profiles as a standalone HTML file. */
#pragma once

#include "lib/format/format.h"

/* Behaves as write() of struct format. */
int flamegraph_write_html(const struct profile *p, const struct export_options *options,
			  struct outfile *out, struct error *err);
