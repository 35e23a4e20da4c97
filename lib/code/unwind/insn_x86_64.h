/* SPDX-License-Identifier: MIT */
/* Instructions of x86-64, as far as they matter for the stack. All code is untrusted. */
#pragma once

#include "lib/code/unwind/stub_rows.h"

#define NO_REG 255

/* Maps of opcodes: one byte, and those after 0f, 0f 38 and 0f 3a. */
enum { MAP_ONE, MAP_0F, MAP_0F38, MAP_0F3A };

/* An instruction, as far as it matters here. */
struct insn {
	size_t size; /* 0: unknown */
	uint8_t map, opcode, rex;
	bool is_16bit; /* prefix 66 */
	bool has_modrm, is_vector; /* VEX, EVEX: does not write general registers */
	uint8_t modrm;
	uint8_t base; /* register of the memory operand; NO_REG: another kind */
	int32_t displacement;
	int64_t immediate; /* up to four bytes of it */
};

/* Decodes the instruction at an offset in the code. */
struct insn insn_x86_64_read(const struct stub_code *code, size_t at);

static inline bool is_register(const struct insn *insn)
{
	return insn->has_modrm && insn->modrm >> 6 == 3;
}

static inline uint8_t rm_of(const struct insn *insn)
{
	return (insn->modrm & 7) | (insn->rex & 1) << 3;
}

static inline uint8_t reg_of(const struct insn *insn)
{
	return (insn->modrm >> 3 & 7) | (insn->rex & 4) << 1;
}

static inline uint8_t operation_of(const struct insn *insn)
{
	return insn->modrm >> 3 & 7;
}
