/* SPDX-License-Identifier: MIT */
#include "lib/code/unwind/pointer.h"

uint8_t pointer_encoding(uint8_t encoding, uint8_t word)
{
	if (word == 8 || encoding == POINTER_OMITTED || encoding & POINTER_FORM)
		return encoding;
	return (encoding & POINTER_BASE) == POINTER_ALIGNED ? POINTER_FORM : encoding | POINTER_U32;
}

uint64_t pointer_read_form(struct bytes *b, uint8_t encoding)
{
	switch (encoding & POINTER_FORM) {
	case POINTER_ABSOLUTE:
	case POINTER_U64:
	case POINTER_S64:
		return bytes_u64(b);
	case POINTER_ULEB:
		return bytes_uleb(b);
	case POINTER_U16:
		return bytes_u16(b);
	case POINTER_U32:
		return bytes_u32(b);
	case POINTER_SLEB:
		return (uint64_t)bytes_sleb(b);
	case POINTER_S16:
		return (uint64_t)(int16_t)bytes_u16(b);
	case POINTER_S32:
		return (uint64_t)(int32_t)bytes_u32(b);
	default:
		b->failed = true;
		return 0;
	}
}

static void align(struct bytes *b, uint64_t vaddr)
{
	bytes_skip(b, -(vaddr + bytes_position(b)) & 7);
}

uint64_t pointer_read(struct bytes *b, uint8_t encoding, uint64_t vaddr, uint64_t base)
{
	switch (encoding & (POINTER_BASE | POINTER_INDIRECT)) {
	case 0:
		base = 0;
		break;
	case POINTER_PC_RELATIVE:
		base = vaddr + bytes_position(b);
		break;
	case POINTER_DATA_RELATIVE:
	case POINTER_TEXT_RELATIVE:
		break;
	case POINTER_ALIGNED:
		base = 0;
		align(b, vaddr);
		break;
	default:
		b->failed = true;
		return 0;
	}
	return base + pointer_read_form(b, encoding);
}

void pointer_skip(struct bytes *b, uint8_t encoding, uint64_t vaddr)
{
	if (encoding == POINTER_OMITTED)
		return;
	if ((encoding & POINTER_BASE) == POINTER_ALIGNED)
		align(b, vaddr);
	pointer_read_form(b, encoding);
}
