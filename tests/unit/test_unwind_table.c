/* SPDX-License-Identifier: MIT */
/* Tables of whole files: where an ELF file has its CFI, and whether libdw agrees. */

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/cleanup.h"
#include "lib/code/binary/vdso.h"
#include "lib/code/unwind/cfi_file.h"
#include "lib/code/unwind/unwind_table.h"
#include "tests/unwind_table_find.h"
#include "tests/unit/cfi_bytes.h"
#include "tests/unit/cfi_reference.h"
#include "tests/unit/sframe_bytes.h"
#include "tests/unit/test.h"

#ifdef __aarch64__
#define LIBRARIES "/usr/lib/aarch64-linux-gnu/"
#else
#define LIBRARIES "/usr/lib/x86_64-linux-gnu/"
#endif

enum { SECTION_NULL, SECTION_NAMES, SECTION_CFI, SECTION_HDR, SECTION_COUNT };

static const char names[] = "\0.shstrtab\0.eh_frame\0.eh_frame_hdr\0.debug_frame\0.init\0.sframe";

/*
 * vaddrs are those of the fixture: .eh_frame_hdr at 0x8000, .eh_frame at 0x10000, mapped together.
 */
struct image {
	Elf64_Ehdr header;
	Elf64_Phdr segments[3];
	Elf64_Shdr sections[SECTION_COUNT];
	char names[sizeof(names)];
	uint8_t hdr[CFI_VADDR - HDR_VADDR];
	uint8_t cfi[4096];
};

static struct image *make_image(void)
{
	struct cfi_fixture *f = cfi_fixture_three(3);
	struct image *image = calloc(1, sizeof(*image));
	uint64_t data = offsetof(struct image, hdr);

	image->header = (Elf64_Ehdr){
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB},
		.e_machine = EM_X86_64,
		.e_entry = 0x1234,
		.e_phoff = offsetof(struct image, segments),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 3,
		.e_shoff = offsetof(struct image, sections),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = SECTION_COUNT,
		.e_shstrndx = SECTION_NAMES,
	};
	image->segments[0] = (Elf64_Phdr){
		.p_type = PT_LOAD, .p_flags = PF_X, .p_vaddr = CODE_START, .p_filesz = 0x1000};
	image->segments[1] = (Elf64_Phdr){.p_type = PT_LOAD,
					  .p_vaddr = HDR_VADDR,
					  .p_offset = data,
					  .p_filesz = sizeof(*image) - data,
					  .p_memsz = sizeof(*image) - data};
	image->segments[2] = (Elf64_Phdr){.p_type = PT_GNU_EH_FRAME,
					  .p_vaddr = HDR_VADDR,
					  .p_offset = data,
					  .p_filesz = f->hdr.size};
	memcpy(image->names, names, sizeof(names));
	image->sections[SECTION_NAMES] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
						      .sh_offset = offsetof(struct image, names),
						      .sh_size = sizeof(names)};
	image->sections[SECTION_CFI] = (Elf64_Shdr){.sh_name = 11,
						    .sh_type = SHT_PROGBITS,
						    .sh_addr = CFI_VADDR,
						    .sh_offset = offsetof(struct image, cfi),
						    .sh_size = f->section.size};
	image->sections[SECTION_HDR] = (Elf64_Shdr){.sh_name = 21,
						    .sh_type = SHT_PROGBITS,
						    .sh_addr = HDR_VADDR,
						    .sh_offset = data,
						    .sh_size = f->hdr.size};
	memcpy(image->hdr, f->hdr.data, f->hdr.size);
	memcpy(image->cfi, f->section.data, f->section.size);
	cfi_fixture_free(f);
	return image;
}

/* Makes .sframe the only section with rules. */
static struct image *make_sframe_image(void)
{
	struct image *image = make_image();

	image->header.e_phnum = 2;
	image->sections[SECTION_HDR].sh_type = SHT_NULL;
	image->sections[SECTION_CFI].sh_name = 54;
	image->sections[SECTION_CFI].sh_size = SFRAME_SIZE;
	sframe_make(image->cfi, CFI_VADDR, CODE_START + 0x100);
	return image;
}

struct compiled {
	struct unwind_rules rules;
	struct unwind_table table;
	int ret;
};

static struct compiled compile_fd(int fd)
{
	struct compiled c;

	unwind_rules_init(&c.rules);
	c.ret = unwind_table_compile(fd, &c.rules, NULL, &c.table, NULL);
	return c;
}

static void release(struct compiled *c)
{
	unwind_table_release(&c->table);
	unwind_rules_release(&c->rules);
}

static struct compiled compile_bytes(const void *data, size_t size)
{
	_cleanup_close_ int fd = memfd_create("test", MFD_CLOEXEC);

	assert_int_equal(write(fd, data, size), size);
	return compile_fd(fd);
}

/* Expects the fixture's three FDEs, or nothing. */
static void check_image(struct image *image, uint64_t fdes)
{
	struct compiled c = compile_bytes(image, sizeof(*image));

	assert_int_equal(c.ret, 0);
	assert_int_equal(c.table.entry, 0x1234);
	assert_int_equal(c.table.stats.fdes - c.table.stats.outside, fdes);
	assert_int_equal(c.table.page_count, fdes ? 1 : 0);
	for (uint64_t i = 0; i < fdes; i++) {
		uint16_t id = unwind_table_find(&c.table, 0x1100 + 0x100 * i);

		assert_int_equal(c.rules.rows.items[id].cfa_offset, 16 + 16 * i);
	}
	release(&c);
	free(image);
}

TEST(by_section_and_by_segment)
{
	struct image *image = make_image();

	check_image(image, 3);
	image = make_image();
	image->header.e_shoff = 0; /* like a file stripped of its section headers */
	check_image(image, 3);
	image = make_image();
	image->header.e_shstrndx = 77;
	check_image(image, 3);
	image = make_image();
	image->header.e_shoff = UINT64_MAX - 10;
	check_image(image, 3);
	image = make_image();
	image->segments[2].p_type = PT_NULL; /* the section has the table, too */
	check_image(image, 3);
	image = make_image();
	image->segments[2].p_type = PT_NULL;
	image->sections[SECTION_HDR].sh_type = SHT_NOBITS;
	check_image(image, 3);
	image = make_image();
	image->segments[2].p_type = PT_NULL;
	image->header.e_shoff = 0;
	check_image(image, 0);
	image = make_image();
	image->segments[0].p_flags = PF_R; /* no code, no rows */
	check_image(image, 0);
	image = make_image();
	image->sections[SECTION_CFI].sh_type = SHT_NOBITS; /* like a debug file */
	image->segments[2].p_type = PT_NULL;
	image->sections[SECTION_HDR].sh_type = SHT_NOBITS;
	check_image(image, 0);
	image = make_image();
	image->header.e_phoff = UINT64_MAX;
	check_image(image, 0);
}

TEST(debug_frame_where_there_is_nothing_else)
{
	static const uint8_t debug_frame[] = "\x10\0\0\0\xff\xff\xff\xff\x04\0\x08\0\x01\x78\x10"
					     "\x0c\x07\x10\x90\x01"
					     "\x14\0\0\0\0\0\0\0\0\x11\0\0\0\0\0\0\x10\0\0\0\0\0\0";
	struct image *image = make_image();

	memcpy(image->cfi + 512, debug_frame, sizeof(debug_frame));
	image->sections[SECTION_HDR] = image->sections[SECTION_CFI];
	image->sections[SECTION_HDR].sh_name = 35;
	image->sections[SECTION_HDR].sh_offset += 512;
	image->sections[SECTION_HDR].sh_size = sizeof(debug_frame);
	image->segments[2].p_type = PT_NULL;
	/* An .eh_frame written by crtend.o alone. */
	memset(image->cfi, 0, 4);
	image->sections[SECTION_CFI].sh_size = 4;
	check_image(image, 1);
}

/* .init is a function without an FDE, if there is code. */
TEST(stubs_by_section)
{
	static const char init[] = "\x48\x83\xec\x08\x48\x83\xc4\x08\xc3";

	for (int i = 0; i < 3; i++) {
		const uint64_t vaddrs[] = {0x1050, 0x500000, CODE_START + 0x1000 - 8};
		struct image *image = make_image();
		Elf64_Shdr *section = &image->sections[SECTION_HDR];
		struct compiled c;

		memcpy(image->cfi + 512, init, sizeof(init));
		*section = image->sections[SECTION_CFI];
		section->sh_name = 48;
		section->sh_offset += 512;
		section->sh_size = sizeof(init) - 1;
		section->sh_addr = vaddrs[i];
		c = compile_bytes(image, sizeof(*image));
		assert_int_equal(c.ret, 0);
		assert_int_equal(c.table.page_count, 1);
		assert_int_equal(unwind_table_find(&c.table, 0x1054) != UNWIND_RULE_NONE, i == 0);
		assert_int_equal(unwind_table_find(&c.table, 0x1059), UNWIND_RULE_NONE);
		release(&c);
		free(image);
	}
}

TEST(what_is_no_file_for_us)
{
	struct image *image = make_image();
	struct compiled c = compile_bytes(image, 63);

	assert_int_equal(c.ret, -ENOEXEC);
	release(&c);
	c = compile_bytes("", 0);
	assert_int_equal(c.ret, -ENOEXEC);
	release(&c);
	c = compile_bytes("#!/bin/sh\n", 10);
	assert_int_equal(c.ret, -ENOEXEC);
	release(&c);
	c = compile_fd(-1);
	assert_int_equal(c.ret, -EBADF);
	release(&c);
	for (int i = 0; i < 3; i++) {
		if (i == 0)
			image->header.e_machine = EM_386;
		else
			image->header.e_ident[i == 1 ? EI_CLASS : EI_DATA] ^= 3;
		c = compile_bytes(image, sizeof(*image));
		assert_int_equal(c.ret, -ENOEXEC);
		assert_int_equal(c.table.page_count, 0);
		release(&c);
		free(image);
		image = make_image();
	}
	free(image);
}

/* A file that claims this many bytes but has only the beginning. */
TEST(a_section_of_giant_size)
{
	struct image *image = make_image();
	_cleanup_close_ int fd = memfd_create("test", MFD_CLOEXEC);
	struct compiled c;

	image->sections[SECTION_CFI].sh_size = 1ull << 40;
	assert_int_equal(write(fd, image, sizeof(*image)), sizeof(*image));
	c = compile_fd(fd);
	assert_int_equal(c.ret, 0); /* cut at the end of the file */
	assert_int_equal(c.table.stats.fdes, 3);
	release(&c);
	assert_int_equal(ftruncate(fd, 1ll << 40), 0);
	c = compile_fd(fd);
	assert_int_equal(c.ret, -EFBIG);
	assert_int_equal(c.table.page_count, 0);
	release(&c);
	free(image);
}

/* A segment's size is believed as far as the file has bytes. */
TEST(a_segment_of_giant_size)
{
	struct image *image = make_image();
	_cleanup_close_ int fd = memfd_create("test", MFD_CLOEXEC);
	struct cfi_file file;

	image->segments[0].p_filesz = image->segments[0].p_memsz = 1ull << 40;
	assert_int_equal(write(fd, image, sizeof(*image)), sizeof(*image));
	assert_int_equal(cfi_file_open(&file, fd, NULL), 0);
	assert_int_equal(file.code.count, 1);
	assert_int_equal(file.code.items[0].start, CODE_START);
	assert_int_equal(file.code.items[0].end, CODE_START + sizeof(*image));
	cfi_file_release(&file);
	free(image);
}

TEST(cut_files)
{
	struct image *image = make_image();

	for (size_t size = 0; size < sizeof(*image); size += size < 700 ? 1 : 97) {
		struct compiled c = compile_bytes(image, size);

		assert_true(c.ret == 0 || c.ret == -ENOEXEC);
		assert_int_equal(c.ret, size < sizeof(Elf64_Ehdr) ? -ENOEXEC : 0);
		assert_true(c.table.stats.fdes <= 3);
		release(&c);
	}
	free(image);
}

static void compare_file(const char *path, uint64_t min_places)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct cfi_comparison comparison = {0};
	uint64_t *counts = comparison.counts;

	if (cfi_compare(fd, &comparison, NULL) != 0)
		fail_msg("%s cannot be compiled", path);
	print_message("# %s: %lu equal, %lu different, %lu unsupported, %lu stubs\n", path,
		      counts[CFI_EQUAL], counts[CFI_DIFFERENT], counts[CFI_UNSUPPORTED],
		      counts[CFI_STUB]);
	assert_true(counts[CFI_EQUAL] >= min_places);
	assert_int_equal(counts[CFI_DIFFERENT], 0);
	assert_int_equal(counts[CFI_REFERENCE_FAILED], 0);
	/* The limit is one place in a thousand; there are far fewer. */
	assert_true((counts[CFI_UNSUPPORTED] + counts[CFI_REG_UNSUPPORTED]) * 1000 <=
		    counts[CFI_EQUAL]);
}

TEST(real_files_as_libdw_reads_them)
{
	compare_file("/proc/self/exe", 100);
	compare_file(LIBRARIES "libc.so.6", 20000);
	compare_file(LIBRARIES "libcrypto.so.3", 20000);
#ifdef __aarch64__
	compare_file("/lib/ld-linux-aarch64.so.1", 1000);
#else
	compare_file("/lib64/ld-linux-x86-64.so.2", 1000);
#endif
}

/* Counts rules of this shape. */
static unsigned int count_rules(const struct compiled *c, uint8_t kind, int reg, uint8_t flags)
{
	unsigned int count = 0;

	vec_for_each(&c->rules.rows, const struct unwind_rule *, rule) {
		bool has_reg = reg < 0 ? rule->cfa_reg >= UNWIND_REG_OTHER : rule->cfa_reg == reg;

		count += rule->cfa_kind == kind && has_reg && (rule->flags & flags) == flags;
	}
	return count;
}

static struct compiled compile_path(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct compiled c = compile_fd(fd);

	assert_int_equal(c.ret, 0);
	assert_int_equal(c.table.stats.malformed, 0);
	assert_true(c.table.page_count > 0);
	return c;
}

/* The rare rules that decide whether the stacks of real programs are whole. */
TEST(rules_that_matter)
{
	struct compiled c = compile_path(LIBRARIES "libc.so.6");

	assert_true(count_rules(&c, UNWIND_CFA_END, UNWIND_REG_SP, 0) > 0);
#ifndef __aarch64__
	assert_int_equal(count_rules(&c, UNWIND_CFA_DEREF, UNWIND_REG_SP, UNWIND_SIGNAL_FRAME), 1);
	assert_true(count_rules(&c, UNWIND_CFA_PLT, UNWIND_REG_SP, 0) > 0);
	release(&c);
	/* _dl_runtime_resolve uses rbx, ciphers any free register. */
	c = compile_path("/lib64/ld-linux-x86-64.so.2");
	assert_true(count_rules(&c, UNWIND_CFA_REG, UNWIND_REG_BASE, 0) > 0);
	release(&c);
	c = compile_path(LIBRARIES "libcrypto.so.3");
	assert_true(count_rules(&c, UNWIND_CFA_DEREF, UNWIND_REG_SP, 0) > 5);
	assert_true(count_rules(&c, UNWIND_CFA_REG, -1, 0) > 5);
#endif
	release(&c);
}

TEST(the_vdso)
{
	_cleanup_close_ int fd = vdso_open(NULL);
	struct compiled c = compile_fd(fd);

	assert_int_equal(c.ret, 0);
	assert_true(c.table.stats.rows > 2);
	assert_int_equal(c.table.stats.malformed, 0);
	assert_int_equal(c.table.stats.unsupported, 0);
#ifdef __aarch64__
	assert_int_equal(count_rules(&c, UNWIND_CFA_DEREF, UNWIND_REG_SP, UNWIND_SIGNAL_FRAME), 1);
#endif
	release(&c);
}

TEST(sframe)
{
	struct image *image = make_sframe_image();
	struct compiled c = compile_bytes(image, sizeof(*image));
	const struct unwind_rule *rule;

	assert_int_equal(c.ret, 0);
	rule = &c.rules.rows.items[unwind_table_find(&c.table, CODE_START + 0x108)];
	assert_int_equal(rule->cfa_kind, UNWIND_CFA_REG);
	assert_int_equal(rule->cfa_reg, UNWIND_REG_FP);
	assert_int_equal(rule->cfa_offset, 16);
	assert_int_equal(unwind_table_find(&c.table, CODE_START + 0x112), UNWIND_RULE_END);
	assert_int_equal(unwind_table_find(&c.table, CODE_START + 0x120), UNWIND_RULE_NONE);
	release(&c);
	free(image);
}
