/* SPDX-License-Identifier: MIT */
/* Reads files of callgrind. */
#define FOREIGN_FORMAT format_callgrind
#include "tests/fuzz/foreign.h"
