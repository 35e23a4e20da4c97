/* SPDX-License-Identifier: MIT */
/* 32-bit programs: their files, call frame information, and stacks of 4-byte words. */
#include <string.h>

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/code/binary/vdso.h"
#include "lib/code/unwind/unwind_table.h"
#include "tests/unwind_table_find.h"
#include "tests/unit/cfi_bytes.h"
#include "tests/unit/walk_fixture.h"
#include "tests/unit/test.h"

#define FUNC 0x1100
#define FUNC_SIZE 64

/* "zR" with that encoding of pointers; CFA = esp + 4, with the return address there. */
static size_t put_i386_cie(struct cfi_bytes *b, const char *augmentation, uint8_t encoding)
{
	size_t cie = put_cie(b);

	put_u8(b, 1);
	put_bytes(b, augmentation, strlen(augmentation) + 1);
	put_uleb(b, 1);
	put_sleb(b, -4);
	put_u8(b, 8);
	put_uleb(b, 1);
	put_u8(b, encoding);
	put_text(b, "\x0c\x04\x04\x88\x01");
	put_end(b);
	return cie;
}

/* An FDE with the program, at FUNC, by absolute addresses of 4 bytes. */
static void put_i386_fde(struct cfi_bytes *b, size_t cie, const void *program, size_t size)
{
	put_fde(b, cie);
	put_u32(b, FUNC);
	put_u32(b, FUNC_SIZE);
	put_uleb(b, 0);
	put_bytes(b, program, size);
	put_end(b);
}

static struct cfi_fixture *compile(const char *augmentation, const void *program, size_t size)
{
	struct cfi_fixture *f = cfi_fixture_new();

	f->arch = &unwind_arch_i386;
	put_i386_fde(&f->section, put_i386_cie(&f->section, augmentation, 0), program, size);
	put_u32(&f->section, 0);
	assert_int_equal(cfi_fixture_compile(f), 0);
	assert_int_equal(f->table.stats.malformed, 0);
	return f;
}
#define COMPILE(augmentation, program) compile(augmentation, program, sizeof(program) - 1)

TEST(offsets_count_words_of_4_bytes)
{
	/* def_cfa_offset 8, ebp at CFA - 8; a byte on: def_cfa ebp 8, ebx at CFA - 12 */
	struct cfi_fixture *f = COMPILE("zR", "\x0e\x08\x85\x02\x41\x0c\x05\x08\x83\x03");
	struct unwind_rule rule = cfi_fixture_rule(f, FUNC);

	assert_int_equal(rule.cfa_kind, UNWIND_CFA_REG);
	assert_int_equal(rule.cfa_reg, UNWIND_REG_SP);
	assert_int_equal(rule.cfa_offset, 8);
	assert_int_equal(rule.ra_offset, -1);
	assert_int_equal(rule.fp_offset, -2);
	rule = cfi_fixture_rule(f, FUNC + 1);
	assert_int_equal(rule.cfa_reg, UNWIND_REG_FP);
	assert_int_equal(rule.base_offset, -3);
	assert_int_equal(cfi_fixture_rule(f, FUNC + FUNC_SIZE).cfa_kind, UNWIND_CFA_NONE);
	cfi_fixture_free(f);
	/* With the factor of 64-bit machines, the same bytes are two words. */
	f = cfi_fixture_new();
	f->arch = &unwind_arch_i386;
	put_i386_fde(&f->section, put_i386_cie(&f->section, "zR", 0), "\x11\x05\x02\x2f\x03\x01",
		     6);
	put_u32(&f->section, 0);
	assert_int_equal(cfi_fixture_compile(f), 0);
	assert_int_equal(cfi_fixture_rule(f, FUNC).fp_offset, -2);
	cfi_fixture_free(f);
}

/* Frames aligned by GCC, stubs of binutils, and the kernel's signal trampoline. */
TEST(expressions)
{
	struct cfi_fixture *f = COMPILE("zR", "\x0f\x03\x75\x7c\x06\x10\x05\x02\x75\x00");
	struct unwind_rule rule = cfi_fixture_rule(f, FUNC);

	assert_int_equal(rule.cfa_kind, UNWIND_CFA_DEREF);
	assert_int_equal(rule.cfa_reg, UNWIND_REG_FP);
	assert_int_equal(rule.cfa_deref, -1);
	assert_int_equal(UNWIND_FP_KIND(rule.kinds), UNWIND_AT_REG);
	cfi_fixture_free(f);
	f = COMPILE("zR", "\x0f\x0b\x74\x04\x78\x00\x3f\x1a\x3b\x2a\x32\x24\x22");
	rule = cfi_fixture_rule(f, FUNC);
	assert_int_equal(rule.cfa_kind, UNWIND_CFA_PLT);
	assert_int_equal(rule.cfa_offset, 11);
	cfi_fixture_free(f);
	f = COMPILE("zRS", "\x0f\x03\x74\x1c\x06\x10\x08\x02\x74\x38\x10\x05\x02\x74\x18");
	rule = cfi_fixture_rule(f, FUNC);
	assert_int_equal(rule.cfa_kind, UNWIND_CFA_DEREF);
	assert_int_equal(rule.cfa_deref, 7);
	assert_int_equal(rule.ra_offset, 14);
	assert_int_equal(rule.fp_offset, 6);
	assert_int_equal(rule.flags, UNWIND_SIGNAL_FRAME);
	cfi_fixture_free(f);
}

/* A CIE of .debug_frame with a size of addresses. */
TEST(another_size_of_addresses_is_malformed)
{
	for (uint8_t size = 4; size <= 8; size += 4) {
		struct cfi_fixture *f = cfi_fixture_new();
		struct cfi_bytes *b = &f->section;

		f->arch = &unwind_arch_i386;
		f->is_debug_frame = true;
		put_u32(b, 16);
		put_u32(b, UINT32_MAX);
		put_bytes(b, (uint8_t[]){4, 0, size, 0, 1, 0x7c, 8, 0x0c, 4, 4, 0x88, 1}, 12);
		put_u32(b, 12);
		put_u32(b, 0);
		put_u32(b, FUNC);
		put_u32(b, FUNC_SIZE);
		assert_int_equal(cfi_fixture_compile(f), 0);
		assert_int_equal(cfi_fixture_offset(f, FUNC), size == 4 ? 4 : -1);
		cfi_fixture_free(f);
	}
}

/* Behind the headers: a table of FDEs that leads to .eh_frame, found by segments alone. */
TEST(a_file_of_class_32)
{
	Elf32_Ehdr head = {
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS32, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_386,
		.e_phoff = sizeof(head),
		.e_phentsize = sizeof(Elf32_Phdr),
		.e_phnum = 2,
		.e_entry = 0x1234,
	};
	const Elf32_Phdr segments[] = {
		{.p_type = PT_LOAD, .p_filesz = 0x2000, .p_memsz = 0x2000, .p_flags = PF_R | PF_X},
		{.p_type = PT_GNU_EH_FRAME, .p_offset = 0x200, .p_vaddr = 0x200, .p_filesz = 20},
	};
	_cleanup_close_ int fd = memfd_create("i386", MFD_CLOEXEC);
	struct cfi_bytes hdr = {0}, section = {0};
	struct unwind_rules rules;
	struct unwind_table table;
	size_t cie = put_i386_cie(&section, "zR", 0);

	put_text(&hdr, "\x01\x1b\x03\x3b");
	put_u32(&hdr, 0x300 - 0x204);
	put_u32(&hdr, 1);
	put_u32(&hdr, FUNC - 0x200);
	put_u32(&hdr, 0x300 + section.size - 0x200);
	put_i386_fde(&section, cie, "\x0e\x0c", 2);
	put_u32(&section, 0);
	assert_int_equal(ftruncate(fd, 0x2000), 0);
	assert_true(pwrite(fd, &head, sizeof(head), 0) > 0);
	assert_true(pwrite(fd, segments, sizeof(segments), sizeof(head)) > 0);
	assert_true(pwrite(fd, hdr.data, hdr.size, 0x200) > 0);
	assert_true(pwrite(fd, section.data, section.size, 0x300) > 0);
	unwind_rules_init(&rules);
	assert_int_equal(unwind_table_compile(fd, &rules, NULL, &table, NULL), 0);
	assert_int_equal(table.stats.fdes, 1);
	assert_int_equal(table.entry, 0x1234);
	assert_int_equal(rules.rows.items[unwind_table_find(&table, FUNC)].cfa_offset, 12);
	unwind_table_release(&table);
	/* x32: 64-bit registers, a 32-bit file. */
	head.e_machine = EM_X86_64;
	assert_true(pwrite(fd, &head, sizeof(head), 0) > 0);
	assert_int_not_equal(unwind_table_compile(fd, &rules, NULL, &table, NULL), 0);
	unwind_rules_release(&rules);
}

TEST(the_kernels_image_for_32_bit_programs)
{
	struct error err = {0};
	_cleanup_close_ int fd = vdso_open_32bit(&err);
	struct unwind_rules rules;
	struct unwind_table table;
	size_t trampolines = 0;

	if (fd < 0) {
		assert_true(err.text[0]);
		return;
	}
	unwind_rules_init(&rules);
	assert_int_equal(unwind_table_compile(fd, &rules, NULL, &table, NULL), 0);
	assert_int_equal(table.stats.malformed, 0);
	for (size_t i = 0; i < rules.rows.count; i++) {
		const struct unwind_rule *rule = &rules.rows.items[i];

		trampolines += rule->flags & UNWIND_SIGNAL_FRAME &&
			       rule->cfa_kind == UNWIND_CFA_DEREF;
	}
	assert_true(trampolines >= 2);
	unwind_table_release(&table);
	unwind_rules_release(&rules);
}

/* Stores two halves of the world's words. */
static void store_narrow(struct world *w, int at, uint64_t value)
{
	uint32_t word = (uint32_t)(value - WORLD_CODE);

	memcpy((char *)w->stack + WORLD_SP_WORD * 8 + at, &word, sizeof(word));
}

static bool read_narrow_code(void *ctx, uint64_t addr, void *to, size_t size)
{
	const struct world *w = ctx;

	if (addr + size > sizeof(w->code))
		return false;
	memcpy(to, w->code + addr, size);
	return true;
}

/* Addresses of the world have more than 32 bits: a narrow one is in a mapping near 0. */
TEST_WITH(walks, world_setup, world_teardown)
{
	struct world *w = *state;

	w->target.is_32bit = true;
	w->mappings[0].start -= WORLD_CODE;
	w->mappings[0].end -= WORLD_CODE;
	w->mappings[0].bias -= WORLD_CODE;
	w->target.mapping_count = 1;
	w->target.read_code = read_narrow_code;
	w->regs.pc -= WORLD_CODE;
	world_set_rule(w, 0, SIMPLE(UNWIND_REG_SP, 4));
	world_set_rule(w, 1,
		       (struct unwind_rule){.cfa_kind = UNWIND_CFA_REG,
					    .cfa_reg = UNWIND_REG_SP,
					    .cfa_offset = 12,
					    .kinds = KINDS(UNWIND_AT_CFA, UNWIND_AT_CFA, 0),
					    .ra_offset = -1,
					    .fp_offset = -2});
	world_set_rule(w, 2, END);
	/* ebp is register 5. */
	world_set_reg(w, 5, 0xffff);
	store_narrow(w, 0, RET(1));
	store_narrow(w, 12, RET(2));
	EXPECT(w, STACK_WHOLE, RET(1) - WORLD_CODE, RET(2) - WORLD_CODE);
	/* By frame pointers, without a rule: two words of 4 bytes. */
	world_set_rule(w, 1, (struct unwind_rule){0});
	world_set_reg(w, 5, WORLD_SP + 20);
	store_narrow(w, 24, RET(2));
	EXPECT(w, STACK_WHOLE, RET(1) - WORLD_CODE, RET(2) - WORLD_CODE);
	/* By a scan, which finds words at distances that are not multiples of 8. */
	world_set_reg(w, 5, 0);
	store_narrow(w, 24, 0);
	store_narrow(w, 36, RET(2));
	world_put_code_before(w, RET(2), "\xe8\xe0\xfe\xff\xff", 5); /* call START(1) */
	world_walk(w);
	assert_int_equal(w->path.depth, 2);
	assert_int_equal(w->path.flags, STACK_WHOLE | STACK_GUESSED);
	assert_int_equal(w->addrs[1], RET(2) - WORLD_CODE);
}
