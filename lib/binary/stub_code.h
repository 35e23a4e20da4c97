/* SPDX-License-Identifier: MIT */
/* The code of linkers' stubs: which word of the GOT each jumps through. For this room. */
#ifndef PROF_LIB_BINARY_STUB_CODE_H
#define PROF_LIB_BINARY_STUB_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bytes of a section of stubs, which start with `next` = 0. */
struct stub_code {
	uint16_t machine; /* EM_X86_64 or EM_AARCH64; of others there are no stubs */
	const uint8_t *bytes; /* borrowed */
	size_t size;
	uint64_t vaddr;
	size_t next; /* where the next stub is looked for */
};

struct stub_jump {
	size_t at, size; /* of the stub in the section */
	bool is_numbered; /* it gives the dynamic linker the number of its relocation instead */
	uint64_t slot; /* vaddr of the word */
	uint32_t number;
};

/* The next stub, in order; false where there is none any more. The code may be anything. */
bool stub_code_next(struct stub_code *code, struct stub_jump *jump);

#endif
