/* SPDX-License-Identifier: MIT */
/* Reads JSLB files. */
#define FOREIGN_FORMAT format_jslb
#include "tests/fuzz/foreign.h"
