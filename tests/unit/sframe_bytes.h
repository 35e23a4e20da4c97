/* SPDX-License-Identifier: MIT */
/* A section of two functions: one with a frame pointer, and one at which stacks end. */
#pragma once

#include <stdint.h>
#include <string.h>

#define SFRAME_SIZE 87

/* Makes the section for an address, and code that begins at another. */
static inline void sframe_make(uint8_t section[SFRAME_SIZE], uint64_t vaddr, uint64_t code)
{
	/* Pieces: the header (version 3, x86-64), size and place of each function's rows. */
	static const char header[] = "\xe2\xde\3\5\3\0\xf8\0\2\0\0\0\5\0\0\0"
				     "\33\0\0\0\0\0\0\0\40\0\0\0",
			  first[] = "\20\0\0\0\0\0\0", second[] = "\10\0\0\0\23\0\0",
			  /* sp+8; sp+16, fp at c-16; fp+16; sp+8; no return address */
		rows[] = "\4\0\0\0\0\0\3\10\1\5\20\xf0\4\4\20\xf0\16\3\10"
			 "\1\0\1\0\0\0\0";
	const uint64_t starts[] = {code - (vaddr + 28), code + 16 - (vaddr + 44)};

	memcpy(section, header, 28);
	memcpy(section + 28, &starts[0], 8);
	memcpy(section + 36, first, 8);
	memcpy(section + 44, &starts[1], 8);
	memcpy(section + 52, second, 8);
	memcpy(section + 60, rows, sizeof(rows));
}
