/* SPDX-License-Identifier: MIT */
#include "lib/live/instruments/allocs/emulated_entry.h"

/* ModR/M: two registers; an address relative to the next instruction's. */
#define IS_REGISTER(modrm) ((modrm) >> 6 == 3)
#define IS_PC_RELATIVE(modrm) (((modrm)&0xc7) == 5)
#define OPERATION(modrm) ((modrm) >> 3 & 7)
#define OPERATION_CMP 7

static bool is_rex(uint8_t byte)
{
	return byte >> 4 == 4;
}

/* Recognizes push, calls, jumps and nop, like arch/x86/kernel/uprobes.c. */
static bool is_emulated(const uint8_t *code)
{
	if (code[0] == 0x41)
		return code[1] >> 3 == 0x50 >> 3;
	return code[0] >> 3 == 0x50 >> 3 || code[0] >> 4 == 7 || code[0] == 0x90 ||
	       code[0] == 0xe8 || code[0] == 0xe9 || code[0] == 0xeb ||
	       (code[0] == 0x0f && code[1] >> 4 == 8);
}

/* Returns the size of a cmp with a constant after its opcode, 0 for another instruction. */
static size_t constant_cmp_size(const uint8_t *modrm, size_t constant)
{
	if (OPERATION(*modrm) != OPERATION_CMP)
		return 0;
	if (IS_REGISTER(*modrm))
		return 1 + constant;
	return IS_PC_RELATIVE(*modrm) ? 1 + 4 + constant : 0;
}

/* Returns the size of an instruction that at most sets flags, 0 if it does more or is unknown. */
static size_t quiet_size(const uint8_t *code)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	size_t rex = is_rex(code[0]) ? 1 : 0, rest = 0;
	const uint8_t *modrm = code + rex + 1;

	if (memcmp(code, endbr64, sizeof(endbr64)) == 0)
		return sizeof(endbr64);
	switch (code[rex]) {
	case 0x84: /* test */
	case 0x85:
	case 0x39: /* cmp */
	case 0x3b:
		rest = IS_REGISTER(*modrm) ? 1 : 0;
		break;
	case 0x80:
	case 0x83:
		rest = constant_cmp_size(modrm, 1);
		break;
	case 0x81:
		rest = constant_cmp_size(modrm, 4);
		break;
	default:
		break;
	}
	return rest ? rex + 1 + rest : 0;
}

size_t emulated_entry_find(const uint8_t *code, size_t size)
{
	/* Maximum size of an instruction. */
	uint8_t longest[16];
	size_t at = 0, step;

	while (at + sizeof(longest) <= size) {
		memcpy(longest, code + at, sizeof(longest));
		if (is_emulated(longest))
			return at;
		step = quiet_size(longest);
		if (!step)
			break;
		at += step;
	}
	return 0;
}
