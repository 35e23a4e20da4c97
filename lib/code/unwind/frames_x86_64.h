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
/*
 * Returns the size of the function with which the code begins: up to its first end that no jump
 * passes, or up to the target of a call; all of the code if there is neither.
 */
size_t frames_x86_64_size(const struct stub_code *code);
