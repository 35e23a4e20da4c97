/* SPDX-License-Identifier: MIT */
/* Rules of code without CFI, from its instructions. */
#pragma once

#include "lib/code/unwind/stub_rows.h"

/*
 * Adds rows, in order of address, for the functions in the code whose returns agree with what their
 * first instructions have pushed. Takes time in proportion to the code, and memory for 128 kB of
 * it.
 */
void frames_x86_64(struct stubs *rows, const struct stub_code *code);
