/* SPDX-License-Identifier: MIT */
/*
 * Decodes linkers' stubs: finds the word of the GOT through which each jumps. Private to this room.
 */
#pragma once

#include "lib/base/base.h"

/* The bytes of a section of stubs; `next` starts at 0. */
struct stub_reader {
	uint16_t machine; /* EM_X86_64 or EM_AARCH64; other machines have no stubs */
	const uint8_t *bytes; /* borrowed */
	size_t size;
	uint64_t vaddr;
	size_t next; /* position at which to search for the next stub */
};

struct stub_jump {
	size_t at, size; /* range of the stub in the section */
	bool is_numbered; /* the stub passes a relocation number to the dynamic linker instead of
			     using a slot */
	uint64_t slot; /* vaddr of the slot */
	uint32_t number;
};

/* Finds the next stub, in order; false if there are no more. The code is untrusted. */
bool stub_code_next(struct stub_reader *code, struct stub_jump *jump);
