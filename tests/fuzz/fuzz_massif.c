/* SPDX-License-Identifier: MIT */
/* Reads massif's files. */
#define FOREIGN_FORMAT format_massif
#include "tests/fuzz/foreign.h"
