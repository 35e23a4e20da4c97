/* SPDX-License-Identifier: MIT */
#include "tests/unit/cfi_bytes.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/cleanup.h"
#include "tests/fuzz/table_check.h"
#include "tests/unwind_table_find.h"

void put_bytes(struct cfi_bytes *b, const void *bytes, size_t size)
{
	assert(size <= sizeof(b->data) - b->size);
	memcpy(b->data + b->size, bytes, size);
	b->size += size;
}

void put_u8(struct cfi_bytes *b, unsigned int value)
{
	uint8_t byte = (uint8_t)value;

	put_bytes(b, &byte, 1);
}

void put_u16(struct cfi_bytes *b, unsigned int value)
{
	put_u8(b, value);
	put_u8(b, value >> 8);
}

void put_u32(struct cfi_bytes *b, uint64_t value)
{
	put_u16(b, (unsigned int)value & 0xffff);
	put_u16(b, (unsigned int)(value >> 16) & 0xffff);
}

void put_u64(struct cfi_bytes *b, uint64_t value)
{
	put_u32(b, value);
	put_u32(b, value >> 32);
}

void put_uleb(struct cfi_bytes *b, uint64_t value)
{
	while (value >= 0x80) {
		put_u8(b, (value & 0x7f) | 0x80);
		value >>= 7;
	}
	put_u8(b, (unsigned int)value);
}

void put_sleb(struct cfi_bytes *b, int64_t value)
{
	while (value < -64 || value > 63) {
		put_u8(b, ((unsigned int)value & 0x7f) | 0x80);
		value >>= 7;
	}
	put_u8(b, (unsigned int)value & 0x7f);
}

size_t put_cie(struct cfi_bytes *b)
{
	b->entry = b->size;
	put_u32(b, 0);
	put_u32(b, 0);
	return b->entry;
}

size_t put_fde(struct cfi_bytes *b, size_t cie)
{
	b->entry = b->size;
	put_u32(b, 0);
	put_u32(b, b->size - cie);
	return b->entry;
}

void put_end(struct cfi_bytes *b)
{
	uint32_t length;

	length = (uint32_t)(b->size - b->entry - 4);
	memcpy(b->data + b->entry, &length, sizeof(length));
}

size_t put_usual_cie(struct cfi_bytes *b, const struct unwind_arch *arch)
{
	size_t cie = put_cie(b);

	put_u8(b, 1);
	put_bytes(b, "zR", 3);
	put_uleb(b, arch->ra_is_register ? 4 : 1);
	put_sleb(b, -8);
	put_u8(b, arch->ra_column);
	put_uleb(b, 1);
	put_u8(b, 0x1b);
	put_u8(b, 0x0c); /* DW_CFA_def_cfa sp */
	put_uleb(b, arch->sp);
	put_uleb(b, arch->ra_is_register ? 0 : 8);
	if (!arch->ra_is_register) {
		put_u8(b, 0x80 + arch->ra_column); /* DW_CFA_offset ra, cfa - 8 */
		put_uleb(b, 1);
	}
	put_end(b);
	return cie;
}

size_t put_usual_fde(struct cfi_bytes *b, size_t cie, uint64_t start, uint64_t size,
		     const void *program, size_t program_size)
{
	size_t fde = put_fde(b, cie);

	put_u32(b, start - (CFI_VADDR + b->size));
	put_u32(b, size);
	put_uleb(b, 0);
	put_bytes(b, program, program_size);
	put_end(b);
	return fde;
}

void put_hdr(struct cfi_bytes *b, unsigned int count)
{
	put_u8(b, 1);
	put_u8(b, 0x1b); /* .eh_frame: pcrel|sdata4 */
	put_u8(b, 0x03); /* count: udata4 */
	put_u8(b, 0x3b); /* table: datarel|sdata4 */
	put_u32(b, CFI_VADDR - (HDR_VADDR + b->size));
	put_u32(b, count);
}

void put_hdr_entry(struct cfi_bytes *b, uint64_t start, size_t fde)
{
	put_u32(b, start - HDR_VADDR);
	put_u32(b, CFI_VADDR + fde - HDR_VADDR);
}

static bool read_gap(const void *ctx, uint64_t vaddr, void *to, size_t size)
{
	const struct cfi_fixture *f = ctx;

	if (f->gap)
		memcpy(to, f->gap, size);
	return f->gap;
}

int cfi_fixture_compile(struct cfi_fixture *f)
{
	_cleanup_free_ uint8_t *section = xmemdup(f->section.data, f->section.size);
	_cleanup_free_ uint8_t *hdr = xmemdup(f->hdr.data, f->hdr.size);
	_cleanup_free_ uint8_t *more = xmemdup(f->more.data, f->more.size);
	struct code_range code = {CODE_START, CODE_END};
	struct compile_input input = {
		.arch = f->arch ? f->arch : &unwind_arch_x86_64,
		.cfi = {section, f->section.size, CFI_VADDR},
		.hdr = {hdr, f->hdr.size, HDR_VADDR},
		.more = {more, f->more.size, 0},
		.is_debug_frame = f->is_debug_frame,
		.code = f->code[0].end ? f->code : &code,
		.code_count = f->code[1].end ? 2 : 1,
		.read_code = read_gap,
		.ctx = f,
		.entry = f->entry,
		.is_program = f->entry,
		.stubs = f->stubs.rows.items,
		.stub_count = f->stubs.rows.count,
	};
	int ret;

	unwind_rules_release(&f->rules);
	unwind_table_release(&f->table);
	unwind_rules_init(&f->rules);
	ret = compile_table(&input, &f->rules, &f->table, NULL);
	if (ret == 0)
		check_table(&f->table, &f->rules, f->section.size);
	return ret;
}

struct cfi_fixture *cfi_fixture_new(void)
{
	return xcalloc(1, sizeof(struct cfi_fixture));
}

void cfi_fixture_free(struct cfi_fixture *f)
{
	unwind_rules_release(&f->rules);
	unwind_table_release(&f->table);
	stubs_release(&f->stubs);
	free(f);
}

struct unwind_rule cfi_fixture_rule(const struct cfi_fixture *f, uint64_t vaddr)
{
	return f->rules.rows.items[unwind_table_find(&f->table, vaddr)];
}

int cfi_fixture_offset(const struct cfi_fixture *f, uint64_t vaddr)
{
	struct unwind_rule rule = cfi_fixture_rule(f, vaddr);

	return rule.cfa_kind == UNWIND_CFA_NONE ? -1 : rule.cfa_offset;
}

size_t cfi_fixture_put_fde(struct cfi_fixture *f, size_t cie, uint64_t start, uint64_t size,
			   unsigned int offset)
{
	char program[] = {0x0e, (char)offset};

	return put_usual_fde(&f->section, cie, start, size, program, sizeof(program));
}

struct cfi_fixture *cfi_fixture_three(unsigned int listed)
{
	struct cfi_fixture *f = cfi_fixture_new();
	size_t cie = put_usual_cie(&f->section, &unwind_arch_x86_64), fdes[3];

	fdes[2] = cfi_fixture_put_fde(f, cie, 0x1300, 64, 48);
	fdes[0] = cfi_fixture_put_fde(f, cie, 0x1100, 64, 16);
	fdes[1] = cfi_fixture_put_fde(f, cie, 0x1200, 64, 32);
	put_u32(&f->section, 0);
	put_hdr(&f->hdr, listed);
	for (unsigned int i = 0; i < listed; i++)
		put_hdr_entry(&f->hdr, 0x1100 + 0x100 * i, fdes[i]);
	return f;
}
