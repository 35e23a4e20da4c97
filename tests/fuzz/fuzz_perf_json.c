/* SPDX-License-Identifier: MIT */
/* Reads JSON of perf data convert. */
#define FOREIGN_FORMAT format_perf_json
#include "tests/fuzz/foreign.h"
