/* SPDX-License-Identifier: MIT */
/*
 * Disassembles machine code with LLVM's C interface. The library is loaded on first use, as that
 * takes some 90 ms.
 */
#pragma once

#include "lib/base/base.h"

#define NO_TARGET UINT64_MAX

struct instruction {
	uint32_t offset, size; /* position within the code */
	char *text; /* owned; ".byte 0x…" for bytes that are not an instruction */
	uint64_t target; /* target of a jump or call; NO_TARGET: none or unknown */
	uint64_t data; /* address of pc-relative data; NO_TARGET: none or unknown */
};

struct disassembly {
	VEC(struct instruction) rows;
	const char *arch, *syntax; /* names that front-ends show */
};

/*
 * Disassembles code at `address`. The last instruction may be truncated. Returns -ENOTSUP for an
 * unknown machine, -ENOENT if the library is not installed; the hint then names the package.
 */
int disassemble(struct disassembly *d, uint16_t machine, const uint8_t *code, size_t size,
		uint64_t address, struct error *err);
/*
 * Formats an instruction with the address of its data, and the function `name` at `start`, if any,
 * to which it jumps or points: "call 0x1234 <main+0x4>". `patched`: the kernel's change to the
 * instruction; NULL: none known. The caller frees it.
 */
char *instruction_text(const struct instruction *row, const char *name, uint64_t start,
		       const char *patched);
void disassembly_release(struct disassembly *d);
