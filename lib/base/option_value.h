/* SPDX-License-Identifier: MIT */
/* Values of command line options. Each error message names the option, the value and the fault. */
#pragma once

#include "lib/base/base.h"

/* All return 0, or -EINVAL with err. `option` is as typed: "--frequency". */

/* A decimal number above 0. */
int option_parse_positive(const char *option, const char *value, double *number, struct error *err);
/*
 * A time in units of `unit_ns`, or with an explicit unit: us, ms, s, m or h. At least one
 * nanosecond.
 */
int option_parse_time(const char *option, const char *value, double unit_ns, uint64_t *ns,
		      struct error *err);

struct size_range {
	uint64_t min, max;
	const char *text; /* "64K and 1G" */
};

/* A size in bytes, with an optional suffix K, M or G. */
int option_parse_size(const char *option, const char *value, const struct size_range *range,
		      uint64_t *size, struct error *err);
