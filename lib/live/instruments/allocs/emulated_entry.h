/* SPDX-License-Identifier: MIT */
/*
 * Finds the instruction of a function to probe: one that the kernel emulates. Others are copied
 * into a page of their own, where the CPU steps over the copy. That is slower, 10 us in a virtual
 * machine; and once, a program ran on into what came after the copy, up to the end of the page.
 */
#ifndef PROF_LIB_LIVE_INSTRUMENTS_ALLOCS_EMULATED_ENTRY_H
#define PROF_LIB_LIVE_INSTRUMENTS_ALLOCS_EMULATED_ENTRY_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of a function that are worth reading. */
#define EMULATED_ENTRY_BYTES 32

/*
 * Returns the offset, in x86-64 code, of the first instruction that the kernel emulates, if those
 * before leave all registers and memory as they are; 0 otherwise.
 */
size_t emulated_entry_find(const uint8_t *code, size_t size);

#endif
