/* SPDX-License-Identifier: MIT */
#include "lib/code/binary/stub_code.h"

#include <elf.h>
#include <string.h>

#include "lib/base/bytes.h"

/* Linkers align stubs to 8 bytes; the longest have 16 bytes on x86-64. */
#define X86_64_STEP 8
#define X86_64_MAX 16

static bool skip_bytes(struct bytes *b, const char *expected, size_t size)
{
	if (bytes_left(b) < size || memcmp(b->at, expected, size) != 0)
		return false;
	bytes_skip(b, size);
	return true;
}
#define skip(b, expected) skip_bytes(b, expected, sizeof(expected) - 1)

/*
 *	[endbr64]  [mov $number,%r11d]  [bnd] jmp *slot(%rip)
 *	[endbr64]  push $number  [bnd] jmp first_stub
 */
static bool decode_x86_64(const struct stub_code *code, size_t at, struct stub_jump *jump)
{
	struct bytes b;

	bytes_init(&b, code->bytes, code->size);
	bytes_seek(&b, at);
	*jump = (struct stub_jump){.at = at};
	skip(&b, "\xf3\x0f\x1e\xfa");
	if (skip(&b, "\x68")) {
		jump->is_numbered = true;
		jump->number = bytes_u32(&b);
		skip(&b, "\xf2");
		return skip(&b, "\xe9") && !b.failed;
	}
	if (skip(&b, "\x41\xbb"))
		bytes_skip(&b, 4);
	skip(&b, "\xf2");
	if (!skip(&b, "\xff\x25"))
		return false;
	jump->slot = (uint64_t)(int64_t)(int32_t)bytes_u32(&b);
	jump->slot += code->vaddr + bytes_position(&b);
	return !b.failed;
}

static bool next_x86_64(struct stub_code *code, struct stub_jump *jump)
{
	struct stub_jump following;

	while (code->next < code->size) {
		size_t at = code->next, size = code->size - at;

		code->next += X86_64_STEP;
		if (!decode_x86_64(code, at, jump))
			continue;
		if (size > X86_64_MAX)
			size = X86_64_MAX;
		if (size > X86_64_STEP && !jump->is_numbered &&
		    decode_x86_64(code, at + X86_64_STEP, &following) && !following.is_numbered)
			size = X86_64_STEP;
		jump->size = size;
		code->next = at + size;
		return true;
	}
	return false;
}

#define AARCH64_BTI_C 0xd503245fu
#define AARCH64_NOP 0xd503201fu
#define AARCH64_BR_X17 0xd61f0220u
/* Words from the load to the jump: ldr, add, [autia1716,] br. */
#define AARCH64_MAX_TAIL 4

static bool read_word(const struct stub_code *code, size_t at, uint32_t *word)
{
	struct bytes b;

	bytes_init(&b, code->bytes, code->size);
	bytes_seek(&b, at);
	*word = bytes_u32(&b);
	return !b.failed;
}

static bool is_word(const struct stub_code *code, size_t at, uint32_t expected)
{
	uint32_t word;

	return read_word(code, at, &word) && word == expected;
}

/* adrp x16, page; ldr x17, [x16, #offset] */
static bool read_load(const struct stub_code *code, size_t at, uint64_t *slot)
{
	uint32_t adrp, ldr;
	uint64_t page;

	if (!read_word(code, at, &adrp) || !read_word(code, at + 4, &ldr) ||
	    (adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211)
		return false;
	page = (uint64_t)(adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3);
	/* Sign-extend 21 bits; the unit is pages. */
	page = (page ^ (1u << 20)) - (1u << 20);
	*slot = ((code->vaddr + at) & ~(uint64_t)0xfff) + (page << 12) +
		(uint64_t)(ldr >> 10 & 0xfff) * 8;
	return true;
}

/* [bti c]  adrp  ldr  add  [autia1716]  br x17  [nop…] */
static bool next_aarch64(struct stub_code *code, struct stub_jump *jump)
{
	while (code->next < code->size) {
		size_t at = code->next, end;

		code->next += 4;
		*jump = (struct stub_jump){.at = at};
		if (!read_load(code, at + 4 * is_word(code, at, AARCH64_BTI_C), &jump->slot))
			continue;
		for (end = at + 8; end < at + 8 + 4 * AARCH64_MAX_TAIL; end += 4) {
			if (is_word(code, end, AARCH64_BR_X17))
				break;
		}
		if (!is_word(code, end, AARCH64_BR_X17))
			continue;
		end += 4;
		while (is_word(code, end, AARCH64_NOP))
			end += 4;
		jump->size = end - at;
		code->next = end;
		return true;
	}
	return false;
}

bool stub_code_next(struct stub_code *code, struct stub_jump *jump)
{
	if (code->machine == EM_X86_64)
		return next_x86_64(code, jump);
	return code->machine == EM_AARCH64 && next_aarch64(code, jump);
}
