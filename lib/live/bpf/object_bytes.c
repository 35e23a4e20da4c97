/* SPDX-License-Identifier: MIT */
/*
 * The bytes of one BPF object, for its skeleton. Compiled once per object, with OBJECT_BYTES, the
 * function's name, and OBJECT_FILE.
 */
#include "lib/base/base.h"

#define HIDDEN __attribute__((visibility("hidden")))

__asm__(".pushsection .rodata\n"
	".balign 8\n"
	"object_begin:\n"
	".incbin \"" OBJECT_FILE "\"\n"
	"object_end:\n"
	".popsection\n");

extern const unsigned char object_begin[] HIDDEN, object_end[] HIDDEN;

const void *OBJECT_BYTES(size_t *size);

const void *OBJECT_BYTES(size_t *size)
{
	*size = (size_t)(object_end - object_begin);
	return object_begin;
}
