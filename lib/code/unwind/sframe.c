/* SPDX-License-Identifier: MIT */
#include "lib/code/unwind/sframe.h"

#include <elf.h>

#include "lib/base/bytes.h"
#include "lib/code/unwind/arch.h"

#define MAGIC 0xdee2
#define VERSION 3
#define STARTS_AT_FIELD 4 /* flag: starts are relative to their fields; else to the section */
#define ABI_AARCH64 2
#define ABI_X86_64 3
#define HEADER_SIZE 28
#define INDEX_SIZE 16
/* Kinds of functions. */
#define ADDR_SIZE_BITS 15
#define IS_REPEATED (1 << 4) /* rows apply to each block of a stub */
#define IS_SIGNAL (1 << 7)
#define KIND_BITS 31 /* 0: the usual one */
/* Parts of rows' info. */
#define BY_SP 1
#define WORD_COUNT(info) ((info) >> 1 & 15)
#define WORD_SIZE(info) ((info) >> 5 & 3) /* power of two */
#define IS_SIGNED 0x80
#define WORDS_MAX 3

struct sframe {
	struct stubs *stubs;
	const struct unwind_arch *arch;
	struct bytes bytes; /* of the section */
	uint64_t vaddr;
	uint8_t flags, abi;
	uint32_t function_count, functions, rows; /* the latter two are offsets in the section */
	size_t left; /* rows that may still be added */
};

static bool read_header(struct sframe *s)
{
	struct bytes *b = &s->bytes;
	uint16_t magic = bytes_u16(b);
	uint8_t version = bytes_u8(b), aux;
	uint32_t functions, rows;

	s->flags = bytes_u8(b);
	s->abi = bytes_u8(b);
	bytes_skip(b, 2); /* fixed places of registers, which are the ABI's */
	aux = bytes_u8(b);
	s->function_count = bytes_u32(b);
	bytes_skip(b, 8); /* number and size of rows */
	functions = bytes_u32(b);
	rows = bytes_u32(b);
	if (b->failed || magic != MAGIC || version != VERSION ||
	    __builtin_add_overflow(functions, HEADER_SIZE + aux, &s->functions) ||
	    __builtin_add_overflow(rows, HEADER_SIZE + aux, &s->rows))
		return false;
	return (s->abi == ABI_X86_64 && s->arch->machine == EM_X86_64) ||
	       (s->abi == ABI_AARCH64 && s->arch->machine == EM_AARCH64);
}

static int32_t read_signed(struct bytes *b, unsigned int size_bits)
{
	if (size_bits == 0)
		return (int8_t)bytes_u8(b);
	return size_bits == 1 ? (int16_t)bytes_u16(b) : (int32_t)bytes_u32(b);
}

/* Sets where the caller's value is saved. False: rules cannot express the place. */
static bool set_saved(struct unwind_rule *rule, int shift, int16_t *place, int32_t offset)
{
	if (offset % 8 || offset / 8 < INT16_MIN || offset / 8 > INT16_MAX)
		return false;
	rule->kinds &= (uint8_t) ~(3 << shift);
	rule->kinds |= (uint8_t)(UNWIND_AT_CFA << shift);
	*place = (int16_t)(offset / 8);
	return true;
}

/*
 * Makes a rule of a row's words: the CFA, on arm64 the place of the return address, and that of the
 * frame pointer.
 */
static struct unwind_rule make_rule(const struct sframe *s, uint8_t info, const int32_t *words,
				    unsigned int count)
{
	const struct unwind_rule none = {.cfa_kind = UNWIND_CFA_NONE};
	struct unwind_rule rule = stubs_rule_at_entry(s->arch, words[0]);
	unsigned int next = 1;

	if (!count)
		return (struct unwind_rule){.cfa_kind = UNWIND_CFA_END};
	rule.cfa_reg = info & BY_SP ? UNWIND_REG_SP : UNWIND_REG_FP;
	if (s->abi == ABI_AARCH64 && info & IS_SIGNED)
		rule.flags |= UNWIND_RA_SIGNED;
	if (s->abi == ABI_AARCH64 && next < count &&
	    !set_saved(&rule, 0, &rule.ra_offset, words[next++]))
		return none;
	if (next < count && !set_saved(&rule, 2, &rule.fp_offset, words[next++]))
		return none;
	return next == count ? rule : none;
}

/* Adds a function's next row. False: there is none. */
static bool add_row(struct sframe *s, struct bytes *b, unsigned int addr_bits, uint64_t start,
		    uint32_t size)
{
	uint32_t at = addr_bits == 0 ? bytes_u8(b) : addr_bits == 1 ? bytes_u16(b) : bytes_u32(b);
	uint8_t info = bytes_u8(b);
	unsigned int count = WORD_COUNT(info);
	int32_t words[WORDS_MAX] = {0};

	if (count > WORDS_MAX || WORD_SIZE(info) > 2)
		return false;
	for (unsigned int i = 0; i < count; i++)
		words[i] = read_signed(b, WORD_SIZE(info));
	if (b->failed || at >= size || !s->left)
		return false;
	s->left--;
	stubs_add_row(s->stubs, start + at, make_rule(s, info, words, count));
	return true;
}

static void add_function(struct sframe *s, uint32_t number)
{
	uint64_t place = s->functions + (uint64_t)number * INDEX_SIZE, start;
	struct bytes b = s->bytes;
	uint8_t info, kind;
	uint32_t size;
	uint16_t count;

	bytes_seek(&b, place);
	start = s->vaddr + bytes_u64(&b) + (s->flags & STARTS_AT_FIELD ? place : 0);
	size = bytes_u32(&b);
	bytes_seek(&b, (uint64_t)s->rows + bytes_u32(&b));
	count = bytes_u16(&b);
	info = bytes_u8(&b);
	kind = bytes_u8(&b);
	bytes_skip(&b, 1); /* size of repeated blocks */
	if (b.failed || !size || start + size < start || !s->left ||
	    info & (IS_REPEATED | IS_SIGNAL) || kind & KIND_BITS || (info & ADDR_SIZE_BITS) > 2)
		return;
	s->left--;
	stubs_add_row(s->stubs, start + size, (struct unwind_rule){.cfa_kind = UNWIND_CFA_NONE});
	while (count-- && add_row(s, &b, info & ADDR_SIZE_BITS, start, size))
		;
}

void sframe_add(struct stubs *stubs, const struct unwind_arch *arch, const uint8_t *data,
		size_t size, uint64_t vaddr)
{
	struct sframe s = {.stubs = stubs, .arch = arch, .vaddr = vaddr, .left = size};

	bytes_init(&s.bytes, data, size);
	if (!read_header(&s))
		return;
	for (uint32_t i = 0; i < s.function_count && s.left &&
			     s.functions + (uint64_t)i * INDEX_SIZE + INDEX_SIZE <= size;
	     i++)
		add_function(&s, i);
}
