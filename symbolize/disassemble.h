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
	uint64_t target; /* address that it jumps to or calls; NO_TARGET: none that it tells */
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
void disassembly_release(struct disassembly *d);

#endif
