/* SPDX-License-Identifier: MIT */
/*
 * Machine code → text, by LLVM's C interface. The library is loaded when the first instruction is
 * asked for: it takes some 90 ms, which nobody else shall pay.
 */
#ifndef PROF_SYMBOLIZE_DISASSEMBLE_H
#define PROF_SYMBOLIZE_DISASSEMBLE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"
#include "lib/base/vec.h"

#define NO_TARGET UINT64_MAX

struct instruction {
	uint32_t offset, size; /* in the code */
	char *text; /* owned; ".byte 0x…" where the bytes are no instruction */
	uint64_t target; /* address that it jumps to or calls; NO_TARGET if unknown */
	uint64_t data; /* address relative to its own that it takes or reads; NO_TARGET: none */
};

struct disassembly {
	VEC(struct instruction) rows;
	const char *arch, *syntax; /* as front-ends call them */
};

/*
 * Disassembles the code that begins at `address`. The last instruction may be cut off. -ENOTSUP: an
 * unknown machine; -ENOENT: the library is not installed, and the hint says how it is.
 */
int disassemble(struct disassembly *d, uint16_t machine, const uint8_t *code, size_t size,
		uint64_t address, struct error *err);
/*
 * The text with the address of data that it takes, and with the name, if there is one, of the
 * function at `start` that it goes or points to: "call 0x1234 <main+0x4>". `patched`: how the
 * kernel changes it; NULL: in no known way. The caller frees.
 */
char *instruction_text(const struct instruction *row, const char *name, uint64_t start,
		       const char *patched);
void disassembly_release(struct disassembly *d);

#endif
