/* SPDX-License-Identifier: MIT */
/* Reads pprof profiles. */
#define FOREIGN_FORMAT format_pprof
#include "tests/fuzz/foreign.h"
