/* SPDX-License-Identifier: MIT */
/* Reads Java flight recordings. */
#define FOREIGN_FORMAT format_jfr
#include "tests/fuzz/foreign.h"
