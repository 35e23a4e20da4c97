/* SPDX-License-Identifier: MIT */
/* Reads V8's heap profiles. */
#define FOREIGN_FORMAT format_heapprofile
#include "tests/fuzz/foreign.h"
