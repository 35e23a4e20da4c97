/* SPDX-License-Identifier: MIT */
/*
 * The bytes of one BPF object, for its skeleton. Compiled once per object, with OBJECT_BYTES, the
 * function's name, OBJECT_FILE, and OBJECT_PREFIX, the function of the object that it was packed
 * against, or NULL.
 */
#include "lib/live/bpf/programs_object.h"

#define HIDDEN __attribute__((visibility("hidden")))

__asm__(".pushsection .rodata\n"
	"object_begin:\n"
	".incbin \"" OBJECT_FILE "\"\n"
	"object_end:\n"
	".popsection\n");

extern const unsigned char object_begin[] HIDDEN, object_end[] HIDDEN;

const void *OBJECT_BYTES(size_t *size);
const void *prof_bpf__elf_bytes(size_t *size);

const void *OBJECT_BYTES(size_t *size)
{
	static struct object_bytes object;

	return object_unpack(&object, object_begin, (size_t)(object_end - object_begin),
			     OBJECT_PREFIX, size);
}
