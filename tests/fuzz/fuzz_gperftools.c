/* SPDX-License-Identifier: MIT */
/* Reads profiles of addresses as gperftools, jemalloc and older Go write them. */
#define FOREIGN_FORMAT format_gperftools
#include "tests/fuzz/foreign.h"
