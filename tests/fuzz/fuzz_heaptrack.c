/* SPDX-License-Identifier: MIT */
/* Reads heaptrack's files. */
#define FOREIGN_FORMAT format_heaptrack
#include "tests/fuzz/foreign.h"
