/* SPDX-License-Identifier: MIT */
/*
 * Finds the instruction at which to probe a function: one that the kernel emulates. Others are
 * copied into a separate page and single-stepped there. That is slower, 10 us in a virtual machine,
 * and a program was once observed to run past the copy to the end of the page.
 */
#pragma once

#include "lib/base/base.h"

/* Bytes of a function to examine. */
#define EMULATED_ENTRY_BYTES 32

/*
 * Returns the offset, in x86-64 code, of the first instruction that the kernel emulates, if the
 * instructions before it change no registers or memory; 0 otherwise.
 */
size_t emulated_entry_find(const uint8_t *code, size_t size);
