/* SPDX-License-Identifier: MIT */
#include "lib/code/unwind/insn_x86_64.h"

#include "lib/base/bytes.h"

static bool is_prefix(uint8_t byte)
{
	return byte == 0x66 || byte == 0x67 || byte == 0xf0 || byte == 0xf2 || byte == 0xf3 ||
	       byte == 0x2e || byte == 0x36 || byte == 0x3e || byte == 0x26 || byte == 0x64 ||
	       byte == 0x65;
}

/* Opcodes of one byte that are invalid in 64-bit mode, or prefixes of other encodings. */
static bool is_invalid(uint8_t opcode)
{
	static const uint8_t invalid[] = {0x06, 0x07, 0x0e, 0x16, 0x17, 0x1e, 0x1f,
					  0x27, 0x2f, 0x37, 0x3f, 0x60, 0x61, 0x82,
					  0x9a, 0xce, 0xd4, 0xd5, 0xd6, 0xea, 0xf1};

	return memchr(invalid, opcode, sizeof(invalid));
}

static bool has_modrm(const struct insn *insn)
{
	uint8_t op = insn->opcode;

	if (insn->map == MAP_0F)
		return !((op >= 0x05 && op <= 0x0b) || op == 0x0e || (op >= 0x30 && op <= 0x37) ||
			 op == 0x77 || op >> 4 == 8 || (op >= 0xa0 && op <= 0xa2) ||
			 (op >= 0xa8 && op <= 0xaa) || (op >= 0xc8 && op <= 0xcf));
	if (insn->map != MAP_ONE)
		return true;
	if (op < 0x40)
		return (op & 7) < 4;
	return op == 0x63 || op == 0x69 || op == 0x6b || op >> 4 == 8 || op == 0xc0 || op == 0xc1 ||
	       op == 0xc6 || op == 0xc7 || (op >= 0xd0 && op <= 0xd3) || op >> 3 == 0x1b ||
	       op == 0xf6 || op == 0xf7 || op == 0xfe || op == 0xff;
}

static size_t immediate_size_0f(const struct insn *insn)
{
	uint8_t op = insn->opcode;

	if (insn->map == MAP_0F3A)
		return 1;
	if (insn->map != MAP_0F)
		return 0;
	if (op >> 4 == 8)
		return insn->is_vector ? 0 : 4;
	return (op >= 0x70 && op <= 0x73) || op == 0xa4 || op == 0xac || op == 0xba || op == 0xc2 ||
	       op == 0xc4 || op == 0xc5 || op == 0xc6 || op == 0x0f;
}

static size_t immediate_size(const struct insn *insn)
{
	uint8_t op = insn->opcode, operation = insn->modrm >> 3 & 7;
	size_t word = insn->is_16bit ? 2 : 4;

	if (insn->map != MAP_ONE)
		return immediate_size_0f(insn);
	if (op < 0x40)
		return (op & 7) == 4 ? 1 : (op & 7) == 5 ? word : 0;
	if (op >> 4 == 7 || op == 0x6a || op == 0x6b || op == 0x80 || op == 0x83 || op == 0xa8 ||
	    op >> 3 == 0x16 || op == 0xc0 || op == 0xc1 || op == 0xc6 || op == 0xcd ||
	    (op >= 0xe0 && op <= 0xe7) || op == 0xeb || (op == 0xf6 && operation < 2))
		return 1;
	if (op == 0x68 || op == 0x69 || op == 0x81 || op == 0xa9 || op == 0xc7 ||
	    (op == 0xf7 && operation < 2))
		return word;
	if (op >= 0xa0 && op <= 0xa3)
		return 8;
	if (op >> 3 == 0x17)
		return insn->rex & 8 ? 8 : word;
	if (op == 0xc2 || op == 0xca)
		return 2;
	return op == 0xc8 ? 3 : op == 0xe8 || op == 0xe9 ? 4 : 0;
}

/* Reads the opcode after the prefixes c4, c5 and 62. */
static bool read_vector(struct insn *insn, struct bytes *b, uint8_t first)
{
	uint8_t payload = bytes_u8(b);

	insn->is_vector = true;
	insn->map = first == 0xc5 ? MAP_0F : payload & (first == 0x62 ? 7 : 31);
	if (first == 0xc4)
		bytes_skip(b, 1);
	else if (first == 0x62)
		bytes_skip(b, 2);
	insn->opcode = bytes_u8(b);
	/* Maps 5 and 6 of EVEX have no immediates. */
	if (first == 0x62 && (insn->map == 5 || insn->map == 6))
		insn->map = MAP_0F38;
	return insn->map >= MAP_0F && insn->map <= MAP_0F3A;
}

static bool read_opcode(struct insn *insn, struct bytes *b)
{
	uint8_t byte = bytes_u8(b);

	while (is_prefix(byte)) {
		insn->is_16bit |= byte == 0x66;
		byte = bytes_u8(b);
	}
	if (byte >> 4 == 4) {
		insn->rex = byte;
		byte = bytes_u8(b);
	}
	if (byte == 0xc4 || byte == 0xc5 || byte == 0x62)
		return read_vector(insn, b, byte);
	if (byte == 0x0f) {
		insn->map = MAP_0F;
		byte = bytes_u8(b);
		if (byte == 0x38 || byte == 0x3a) {
			insn->map = byte == 0x38 ? MAP_0F38 : MAP_0F3A;
			byte = bytes_u8(b);
		}
	}
	insn->opcode = byte;
	return insn->map != MAP_ONE || !is_invalid(byte);
}

static void read_modrm(struct insn *insn, struct bytes *b)
{
	uint8_t modrm = bytes_u8(b), mode = modrm >> 6, base = modrm & 7;
	bool has_index = false;

	insn->modrm = modrm;
	insn->base = NO_REG;
	if (mode == 3)
		return;
	if (base == 4) {
		uint8_t sib = bytes_u8(b);

		base = sib & 7;
		has_index = (sib >> 3 & 7) != 4 || insn->rex & 2;
	}
	if (mode == 1)
		insn->displacement = (int8_t)bytes_u8(b);
	else if (mode == 2 || base == 5)
		insn->displacement = (int32_t)bytes_u32(b);
	if ((mode || base != 5) && !has_index)
		insn->base = base | (insn->rex & 1) << 3;
}

static void read_immediate(struct insn *insn, struct bytes *b)
{
	size_t size = immediate_size(insn);

	if (size == 1)
		insn->immediate = (int8_t)bytes_u8(b);
	else if (size == 4)
		insn->immediate = (int32_t)bytes_u32(b);
	else
		bytes_skip(b, size);
}

struct insn insn_x86_64_read(const struct stub_code *code, size_t at)
{
	struct insn insn = {.base = NO_REG};
	size_t left = code->size - at;
	struct bytes b;

	/* No instruction has more bytes. */
	bytes_init(&b, code->code + at, left < 15 ? left : 15);
	if (!read_opcode(&insn, &b))
		return insn;
	insn.has_modrm = has_modrm(&insn);
	if (insn.has_modrm)
		read_modrm(&insn, &b);
	read_immediate(&insn, &b);
	if (!b.failed)
		insn.size = bytes_position(&b);
	return insn;
}
