/* SPDX-License-Identifier: MIT */
/* Reads dhat's profiles. */
#define FOREIGN_FORMAT format_dhat
#include "tests/fuzz/foreign.h"
