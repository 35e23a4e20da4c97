/* SPDX-License-Identifier: MIT */
/* A section of two functions: push %rbp; mov %rsp,%rbp; …; pop %rbp; ret — and a thread's start. */
#pragma once

#include <stdint.h>
#include <string.h>

#define SFRAME_SIZE 87

/* Makes the section for an address, and code that begins at another. */
static inline void sframe_make(uint8_t section[SFRAME_SIZE], uint64_t vaddr, uint64_t code)
{
	static const uint8_t bytes[SFRAME_SIZE] = {
		/* magic, version, sorted and relative to fields; x86-64, RA at CFA-8 */
		0xe2,
		0xde,
		3,
		5,
		3,
		0,
		0xf8,
		0,
		/* functions, rows, bytes of rows, places of both */
		2,
		0,
		0,
		0,
		5,
		0,
		0,
		0,
		27,
		0,
		0,
		0,
		0,
		0,
		0,
		0,
		32,
		0,
		0,
		0,
		/* start, size, rows */
		0,
		0,
		0,
		0,
		0,
		0,
		0,
		0,
		16,
		0,
		0,
		0,
		0,
		0,
		0,
		0,
		0,
		0,
		0,
		0,
		0,
		0,
		0,
		0,
		8,
		0,
		0,
		0,
		19,
		0,
		0,
		0,
		/* rows of one byte: sp+8; sp+16, fp at c-16; fp+16; sp+8 */
		4,
		0,
		0,
		0,
		0,
		0,
		0x03,
		8,
		1,
		0x05,
		16,
		0xf0,
		4,
		0x04,
		16,
		0xf0,
		14,
		0x03,
		8,
		/* of two: no return address */
		1,
		0,
		1,
		0,
		0,
		0,
		0,
		0x00,
	};
	const uint64_t starts[] = {code - (vaddr + 28), code + 16 - (vaddr + 44)};

	memcpy(section, bytes, SFRAME_SIZE);
	memcpy(section + 28, &starts[0], 8);
	memcpy(section + 44, &starts[1], 8);
}
