/* SPDX-License-Identifier: MIT */
/* Reads Gecko profiles. */
#define FOREIGN_FORMAT format_gecko
#include "tests/fuzz/foreign.h"
