/* SPDX-License-Identifier: MIT */
/* Reads speedscope's profiles. */
#define FOREIGN_FORMAT format_speedscope
#include "tests/fuzz/foreign.h"
