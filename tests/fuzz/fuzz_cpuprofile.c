/* SPDX-License-Identifier: MIT */
/* Reads CPU profiles of V8. */
#define FOREIGN_FORMAT format_cpuprofile
#include "tests/fuzz/foreign.h"
