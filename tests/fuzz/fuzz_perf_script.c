/* SPDX-License-Identifier: MIT */
/* Reads text of perf script. */
#define FOREIGN_FORMAT format_perf_script
#include "tests/fuzz/foreign.h"
