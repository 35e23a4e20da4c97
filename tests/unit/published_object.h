/* SPDX-License-Identifier: MIT */
/* Writes the ELF objects by which compilers publish generated code. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define PUBLISHED_OBJECT_MAX 2048

enum published_way {
	PUBLISHED_RELOCATABLE, /* as LLVM: relative to sections, with relocations */
	PUBLISHED_PLACED, /* as QEMU: an executable with absolute addresses */
	PUBLISHED_IMAGE, /* as wasmtime: relative to sections, which lie as in the file */
	PUBLISHED_BY_TEXT, /* as PHP: call frame information relative to the code */
};

/*
 * An object of two functions, "first" and "second", each with half of the code, of lines 10 and 20
 * of "made.c", and of call frame information: CFA = sp + 16 in the first, sp + 32 in the second.
 * Returns its size.
 */
size_t published_object(uint8_t to[PUBLISHED_OBJECT_MAX], enum published_way way, uint64_t code,
			uint64_t code_size);
