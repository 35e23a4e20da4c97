/* SPDX-License-Identifier: MIT */
/* Reads trace events. */
#define FOREIGN_FORMAT format_trace
#include "tests/fuzz/foreign.h"
