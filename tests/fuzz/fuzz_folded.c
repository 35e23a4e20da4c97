/* SPDX-License-Identifier: MIT */
/* Reads collapsed stacks. */
#define FOREIGN_FORMAT format_folded
#include "tests/fuzz/foreign.h"
