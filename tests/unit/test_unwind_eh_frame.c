/* SPDX-License-Identifier: MIT */
/* CIEs, FDEs and the linker's table of them: encodings, versions, order, and damage. */

#include <stdlib.h>
#include <string.h>

#include "tests/unit/cfi_bytes.h"
#include "tests/unit/test.h"

#define START 0x1100
#define SIZE 64

/* The head of a CIE; put the data of its augmentation, then the rest. */
static size_t put_cie_head(struct cfi_bytes *b, unsigned int version, const char *augmentation)
{
	size_t cie = put_cie(b);

	put_u8(b, version);
	put_bytes(b, augmentation, strlen(augmentation) + 1);
	if (strcmp(augmentation, "eh") == 0)
		put_u64(b, 0x0807060504030201);
	if (version == 4)
		put_u16(b, 8); /* address size, segment selector size */
	put_uleb(b, 1);
	put_sleb(b, -8);
	put_u8(b, 16);
	return cie;
}

static void put_cie_program(struct cfi_bytes *b)
{
	put_text(b, "\x0c\x07\x08\x90\x01");
	put_end(b);
}

/* Expects the fixture's FDE to cover exactly its code. */
static void assert_covered(struct cfi_fixture *f)
{
	assert_int_equal(cfi_fixture_compile(f), 0);
	assert_int_equal(f->table.stats.malformed, 0);
	assert_int_equal(f->table.stats.fdes, 1);
	assert_int_equal(cfi_fixture_offset(f, START - 1), -1);
	assert_int_equal(cfi_fixture_offset(f, START), 8);
	assert_int_equal(cfi_fixture_offset(f, START + SIZE - 1), 8);
	assert_int_equal(cfi_fixture_offset(f, START + SIZE), -1);
	cfi_fixture_free(f);
}

static void assert_refused(struct cfi_fixture *f)
{
	assert_int_equal(cfi_fixture_compile(f), 0);
	assert_true(f->table.stats.malformed > 0);
	assert_int_equal(f->table.stats.fdes, 0);
	assert_int_equal(f->table.page_count, 0);
	assert_int_equal(cfi_fixture_offset(f, START), -1);
	cfi_fixture_free(f);
}

static void put_number(struct cfi_bytes *b, unsigned int encoding, uint64_t value)
{
	switch (encoding & 0x0f) {
	case 0x01:
		put_uleb(b, value);
		break;
	case 0x09:
		put_sleb(b, (int64_t)value);
		break;
	case 0x02:
	case 0x0a:
		put_u16(b, (unsigned int)value & 0xffff);
		break;
	case 0x03:
	case 0x0b:
		put_u32(b, value);
		break;
	default:
		put_u64(b, value);
	}
}

static struct cfi_fixture *fixture_of_encoding(unsigned int encoding)
{
	struct cfi_fixture *f = cfi_fixture_new();
	struct cfi_bytes *b = &f->section;
	size_t cie = put_cie_head(b, 1, "zR");

	put_text(b, "\x01");
	put_u8(b, encoding);
	put_cie_program(b);
	put_fde(b, cie);
	put_number(b, encoding, START - ((encoding & 0x70) == 0x10 ? CFI_VADDR + b->size : 0));
	put_number(b, encoding, SIZE);
	put_uleb(b, 0);
	put_end(b);
	return f;
}

TEST(pointer_encodings)
{
	static const uint8_t absolute[] = {0x00, 0x01, 0x02, 0x03, 0x04, 0x09, 0x0a, 0x0b, 0x0c};
	/* Two bytes do not reach the code from here. */
	static const uint8_t relative[] = {0x10, 0x14, 0x19, 0x1b, 0x1c};
	static const uint8_t refused[] = {0x05, 0x0d, 0x0f, 0x1d, 0x20, 0x2b, 0x30,
					  0x3b, 0x40, 0x50, 0x80, 0x9b, 0xff};

	for (size_t i = 0; i < sizeof(absolute); i++)
		assert_covered(fixture_of_encoding(absolute[i]));
	for (size_t i = 0; i < sizeof(relative); i++)
		assert_covered(fixture_of_encoding(relative[i]));
	for (size_t i = 0; i < sizeof(refused); i++)
		assert_refused(fixture_of_encoding(refused[i]));
}

static struct cfi_fixture *fixture_of_augmentation(unsigned int version, const char *letters,
						   const char *data, size_t size)
{
	struct cfi_fixture *f = cfi_fixture_new();
	struct cfi_bytes *b = &f->section;
	size_t cie = put_cie_head(b, version, letters);

	if (letters[0] == 'z')
		put_uleb(b, size);
	put_bytes(b, data, size);
	put_cie_program(b);
	put_fde(b, cie);
	if (strchr(letters, 'R')) {
		put_u32(b, START - (CFI_VADDR + b->size));
		put_u32(b, SIZE);
	} else {
		put_u64(b, START);
		put_u64(b, SIZE);
	}
	if (letters[0] == 'z')
		put_text(b, "\x02\xff\xff"); /* its data is skipped */
	put_end(b);
	return f;
}

#define AUGMENTED(version, letters, data) \
	fixture_of_augmentation(version, letters, data, sizeof(data) - 1)

TEST(augmentations)
{
	assert_covered(AUGMENTED(1, "", ""));
	assert_covered(AUGMENTED(1, "z", ""));
	assert_covered(AUGMENTED(1, "S", "")); /* as GNU as writes .debug_frame */
	assert_covered(AUGMENTED(1, "eh", ""));
	assert_covered(AUGMENTED(1, "zR", "\x1b"));
	assert_covered(AUGMENTED(1, "zR", "\x1b and more than its letters need"));
	assert_covered(AUGMENTED(1, "zPLR", "\x9b\x01\x02\x03\x04\x1b\x1b"));
	assert_covered(AUGMENTED(1, "zPLR", "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x1b\x1b"));
	assert_covered(AUGMENTED(1, "zPR", "\x01\x81\x02\x1b"));
	assert_covered(AUGMENTED(1, "zPR", "\xff\x1b"));
	/* Aligned to 24, after 6 bytes of padding. */
	assert_covered(AUGMENTED(1, "zPR",
				 "\x50\x00\x00\x00\x00\x00\x00\x01\x02\x03\x04\x05\x06\x07\x08"
				 "\x1b"));
	assert_covered(AUGMENTED(1, "zRBG", "\x1b"));
	assert_refused(AUGMENTED(1, "zRX", "\x1b"));
	assert_refused(AUGMENTED(1, "zR", ""));
	assert_refused(AUGMENTED(1, "zPR", "\x0d\x1b"));
	assert_refused(AUGMENTED(1, "zPR", "\x9b\x01\x02\x03"));
	assert_refused(AUGMENTED(1, "R", "\x1b"));
	assert_refused(AUGMENTED(1, "abc", ""));
}

static struct cfi_fixture *fixture_of_factors(uint64_t code, int64_t data)
{
	struct cfi_fixture *f = cfi_fixture_new();
	struct cfi_bytes *b = &f->section;
	size_t cie = put_cie(b);

	put_text(b, "\x01\x00");
	put_uleb(b, code);
	put_sleb(b, data);
	put_u8(b, 16);
	put_cie_program(b);
	put_fde(b, cie);
	put_u64(b, START);
	put_u64(b, SIZE);
	put_end(b);
	return f;
}

TEST(versions)
{
	struct cfi_fixture *f;

	assert_covered(AUGMENTED(1, "zR", "\x1b"));
	assert_covered(AUGMENTED(3, "zR", "\x1b"));
	assert_covered(AUGMENTED(4, "zR", "\x1b"));
	assert_refused(AUGMENTED(0, "zR", "\x1b"));
	assert_refused(AUGMENTED(2, "zR", "\x1b"));
	assert_refused(AUGMENTED(5, "zR", "\x1b"));
	/* Addresses of 4 bytes; segments; another column; factors. */
	f = AUGMENTED(4, "zR", "\x1b");
	f->section.data[12] = 4;
	assert_refused(f);
	f = AUGMENTED(4, "zR", "\x1b");
	f->section.data[13] = 1;
	assert_refused(f);
	f = AUGMENTED(1, "zR", "\x1b");
	f->section.data[14] = 15;
	assert_refused(f);
	assert_covered(fixture_of_factors(CIE_MAX_FACTOR, -8));
	assert_refused(fixture_of_factors(CIE_MAX_FACTOR + 1, -8));
	assert_refused(fixture_of_factors(0, -8)); /* would never advance */
	assert_refused(fixture_of_factors(1, -CIE_MAX_FACTOR - 1));
	assert_refused(fixture_of_factors(1, CIE_MAX_FACTOR + 1));
}

/* 32-bit and 64-bit DWARF; ids in .debug_frame are offsets in the section. */
static struct cfi_fixture *debug_frame(bool is_64bit)
{
	struct cfi_fixture *f = cfi_fixture_new();
	struct cfi_bytes *b = &f->section;

	f->is_debug_frame = true;
	put_text(b, "\0\0\0\0"); /* padding, which is no terminator here */
	for (int i = 0; i < 2; i++) {
		size_t length_at = b->size + (is_64bit ? 4 : 0), body;
		uint64_t id = i == 0 ? UINT64_MAX : 4;

		if (is_64bit)
			put_u32(b, UINT32_MAX);
		put_number(b, is_64bit ? 0x04 : 0x03, 0);
		body = b->size;
		put_number(b, is_64bit ? 0x04 : 0x03, id);
		if (i == 0) {
			put_text(b, "\x04\x00\x08\x00\x01\x78\x10\x0c\x07\x08\x90\x01");
		} else {
			put_u64(b, START);
			put_u64(b, SIZE);
		}
		b->data[length_at] = (uint8_t)(b->size - body);
	}
	return f;
}

TEST(debug_frames)
{
	assert_covered(debug_frame(false));
	assert_covered(debug_frame(true));
}

/* In .eh_frame, a length of 8 bytes leaves the id at 4 bytes. */
TEST(eh_frame_of_64_bits)
{
	struct cfi_fixture *f = cfi_fixture_new();
	struct cfi_bytes *b = &f->section;
	size_t cie = put_usual_cie(b, &unwind_arch_x86_64);

	put_u32(b, UINT32_MAX);
	put_u64(b, 4 + 8 + 1);
	put_u32(b, b->size - cie);
	put_u32(b, START - (CFI_VADDR + b->size));
	put_u32(b, SIZE);
	put_uleb(b, 0);
	assert_covered(f);
}

static void assert_three(struct cfi_fixture *f)
{
	assert_int_equal(cfi_fixture_compile(f), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(cfi_fixture_offset(f, 0x1100 + 0x100 * (uint64_t)i - 1), -1);
		assert_int_equal(cfi_fixture_offset(f, 0x1100 + 0x100 * (uint64_t)i), 16 + 16 * i);
		assert_int_equal(cfi_fixture_offset(f, 0x1100 + 0x100 * (uint64_t)i + SIZE), -1);
	}
	assert_int_equal(f->table.stats.fdes, 3);
	assert_int_equal(f->table.stats.malformed, 0);
	cfi_fixture_free(f);
}

TEST(the_table_leads)
{
	struct cfi_fixture *f = cfi_fixture_three(2);

	assert_int_equal(cfi_fixture_compile(f), 0);
	assert_int_equal(f->table.stats.fdes, 2);
	assert_int_equal(cfi_fixture_offset(f, 0x1200), 32);
	assert_int_equal(cfi_fixture_offset(f, 0x1300), -1);
	cfi_fixture_free(f);
	assert_three(cfi_fixture_three(3));
}

TEST(a_table_of_wide_entries)
{
	struct cfi_fixture *f = cfi_fixture_three(3);
	struct cfi_bytes narrow = f->hdr;

	f->hdr.data[3] = 0x3c;
	f->hdr.size = 12;
	for (int i = 0; i < 6; i++) {
		int32_t value;

		memcpy(&value, narrow.data + 12 + 4 * i, sizeof(value));
		put_u64(&f->hdr, (uint64_t)(int64_t)value);
	}
	assert_three(f);
}

/* Unusable tables are ignored: the section has everything needed. */
TEST(tables_that_are_ignored)
{
	struct cfi_fixture *f;

	for (int i = 0; i < 4; i++) {
		f = cfi_fixture_three(3);
		f->hdr.data[i] = i == 0 ? 2 : 0xff;
		assert_three(f);
	}
	f = cfi_fixture_three(3);
	f->hdr.data[8]++; /* more entries than exist */
	assert_three(f);
	f = cfi_fixture_three(3);
	memset(f->hdr.data + 8, 0xff, 4);
	assert_three(f);
	assert_three(cfi_fixture_three(0));
	f = cfi_fixture_three(3);
	f->hdr.data[12 + 8 + 1] += 0x20; /* the second start is behind the third */
	assert_three(f);
	f = cfi_fixture_three(3);
	f->hdr.data[12 + 4] += 4; /* leads between entries */
	assert_three(f);
	f = cfi_fixture_three(3);
	f->hdr.data[12 + 16 + 7] = 0x7f; /* leads out of the section */
	assert_three(f);
	f = cfi_fixture_three(3);
	f->hdr.data[12 + 16]++; /* differs from the FDE's start */
	assert_three(f);
	for (size_t size = 0; size < 12 + 3 * 8; size++) {
		f = cfi_fixture_three(3);
		f->hdr.size = size;
		assert_three(f);
	}
}

/* Eight FDEs, and a table with their starts and places. */
static struct cfi_fixture *fixture_of_order(const char *starts, const char *places)
{
	struct cfi_fixture *f = cfi_fixture_new();
	size_t cie = put_usual_cie(&f->section, &unwind_arch_x86_64), fdes[8];

	put_hdr(&f->hdr, 8);
	for (unsigned int i = 0; i < 8; i++)
		fdes[i] = cfi_fixture_put_fde(f, cie, 0x1100 + 0x100 * i, SIZE, 16 + i);
	for (unsigned int i = 0; i < 8; i++)
		put_hdr_entry(&f->hdr, 0x1100 + 0x100 * (uint64_t)(starts[i] - '0'),
			      fdes[places[i] - '0']);
	assert_int_equal(cfi_fixture_compile(f), 0);
	return f;
}

/* A wrong entry between those that are checked first costs only its own FDE. */
TEST(a_table_with_a_wrong_entry)
{
	struct cfi_fixture *f = fixture_of_order("01234567", "01134567");

	assert_int_equal(f->table.stats.malformed, 1);
	assert_int_equal(f->table.stats.fdes, 7);
	assert_int_equal(cfi_fixture_offset(f, 0x1200), 17);
	assert_int_equal(cfi_fixture_offset(f, 0x1300), -1);
	assert_int_equal(cfi_fixture_offset(f, 0x1400), 19);
	cfi_fixture_free(f);
}

TEST(a_table_that_is_not_sorted)
{
	struct cfi_fixture *f = fixture_of_order("02134567", "02134567");

	assert_int_equal(f->table.stats.malformed, 0);
	assert_int_equal(f->table.stats.fdes, 8);
	for (int i = 0; i < 8; i++)
		assert_int_equal(cfi_fixture_offset(f, 0x1100 + 0x100 * (uint64_t)i), 16 + i);
	cfi_fixture_free(f);
}

TEST(overlaps_and_gaps)
{
	struct cfi_fixture *f = cfi_fixture_new();
	size_t cie = put_usual_cie(&f->section, &unwind_arch_x86_64);

	cfi_fixture_put_fde(f, cie, 0x1100, 0x100, 16);
	cfi_fixture_put_fde(f, cie, 0x1180, 0x20, 32); /* inside the previous one */
	cfi_fixture_put_fde(f, cie, 0x1180, 0x40, 48); /* at the same place */
	cfi_fixture_put_fde(f, cie, 0x1200, 0x00, 64); /* empty */
	cfi_fixture_put_fde(f, cie, 0x1240, 0x40, 80);
	cfi_fixture_put_fde(f, cie, 0x1280, 0x40, 80); /* like the previous one */
	cfi_fixture_put_fde(f, cie, 0x0ff0, 0x40, 96); /* without code */
	cfi_fixture_put_fde(f, cie, CODE_END - 0x10, 0x40, 96);
	assert_int_equal(cfi_fixture_compile(f), 0);
	assert_int_equal(cfi_fixture_offset(f, 0x117f), 16);
	assert_int_equal(cfi_fixture_offset(f, 0x1180), 32);
	/* A search by start does not come back to the outer FDE. */
	assert_int_equal(cfi_fixture_offset(f, 0x11a0), -1);
	assert_int_equal(cfi_fixture_offset(f, 0x1200), -1);
	assert_int_equal(cfi_fixture_offset(f, 0x1240), 80);
	assert_int_equal(cfi_fixture_offset(f, 0x12bf), 80);
	assert_int_equal(cfi_fixture_offset(f, 0x12c0), -1);
	assert_int_equal(cfi_fixture_offset(f, CODE_END - 1), 96);
	assert_int_equal(cfi_fixture_offset(f, CODE_END), -1);
	assert_int_equal(f->table.stats.overlapping, 2);
	assert_int_equal(f->table.stats.outside, 1);
	assert_int_equal(f->table.stats.malformed, 0);
	/* The gap before, 16, 32, gap, 80, gap, 96. */
	assert_int_equal(f->table.stats.rows, 7);
	cfi_fixture_free(f);
}

/* CIEs that are the FDE itself, another FDE, in front of the section, or far outside. */
TEST(cies_that_are_none)
{
	for (int i = 0; i < 5; i++) {
		struct cfi_fixture *f = cfi_fixture_new();
		struct cfi_bytes *b = &f->section;
		size_t cie = i == 4 ? put_usual_cie(b, &unwind_arch_x86_64) : 0;
		size_t fde = i == 4 ? cfi_fixture_put_fde(f, cie, 0x2000, 16, 16) : 0;

		put_fde(b, i == 4 ? fde : b->size);
		b->data[b->size - 4] += i;
		put_u32(b, START - (CFI_VADDR + b->size));
		put_u32(b, SIZE);
		put_uleb(b, 0);
		put_end(b);
		assert_int_equal(cfi_fixture_compile(f), 0);
		assert_int_equal(f->table.stats.malformed, 2); /* the CIE and the FDE */
		assert_int_equal(cfi_fixture_offset(f, START), -1);
		cfi_fixture_free(f);
	}
}

TEST(ranges_that_wrap_around)
{
	struct cfi_fixture *f = cfi_fixture_new();
	size_t cie = put_usual_cie(&f->section, &unwind_arch_x86_64);

	cfi_fixture_put_fde(f, cie, 0x1100, 0xffffff00, 16); /* negative */
	cfi_fixture_put_fde(f, cie, 0x1200, 0x10, 32);
	assert_int_equal(cfi_fixture_compile(f), 0);
	assert_int_equal(f->table.stats.malformed, 1);
	assert_int_equal(cfi_fixture_offset(f, 0x1100), -1);
	assert_int_equal(cfi_fixture_offset(f, 0x1200), 32);
	cfi_fixture_free(f);
}

TEST(the_section_ends_at_its_terminator)
{
	struct cfi_fixture *f = cfi_fixture_new();
	size_t cie = put_usual_cie(&f->section, &unwind_arch_x86_64);

	cfi_fixture_put_fde(f, cie, 0x1100, SIZE, 16);
	put_u32(&f->section, 0);
	cfi_fixture_put_fde(f, cie, 0x1200, SIZE, 32);
	assert_int_equal(cfi_fixture_compile(f), 0);
	assert_int_equal(f->table.stats.fdes, 1);
	assert_int_equal(cfi_fixture_offset(f, 0x1200), -1);
	cfi_fixture_free(f);
}

/* The end of glibc's clone(), behind its system call, has no FDE. */
static void check_gap(uint64_t end, const char *code, enum unwind_cfa_kind kind)
{
	struct cfi_fixture *f = cfi_fixture_new();
	size_t cie = put_usual_cie(&f->section, &unwind_arch_x86_64);

	f->gap = code;
	cfi_fixture_put_fde(f, cie, 0x1100, 0x40, 16);
	cfi_fixture_put_fde(f, cie, end, 0x40, 32);
	assert_int_equal(cfi_fixture_compile(f), 0);
	assert_int_equal(cfi_fixture_rule(f, 0x1140).cfa_kind, kind);
	assert_int_equal(cfi_fixture_rule(f, end - 1).cfa_kind, kind);
	if (kind != UNWIND_CFA_NONE)
		assert_int_equal(cfi_fixture_offset(f, 0x1142), 8);
	assert_int_equal(cfi_fixture_offset(f, end), 32);
	cfi_fixture_free(f);
}

TEST(gap_behind_a_system_call_that_makes_a_thread)
{
	const char near[] = "\x0f\x05\x48\x85\xc0\x7c\x13\x74\x01\xc3\xcc\xcc\xcc\xcc\xcc\xcc";
	const char far[] = "\x0f\x05\x48\x85\xc0\x0f\x8c\x10\x01\x00\x00\x74\x01\xc3\xcc\xcc";
	const char other[] = "\x0f\x05\x48\x85\xc0\x7c\x13\x90\x90\xc3";

	check_gap(0x114a, near, UNWIND_CFA_CLONE);
	check_gap(0x114e, far, UNWIND_CFA_CLONE);
	check_gap(0x114a, other, UNWIND_CFA_NONE);
	check_gap(0x114a, NULL, UNWIND_CFA_NONE);
	/* More code than that, or a gap up to a function's alignment. */
	check_gap(0x114b, near, UNWIND_CFA_NONE);
	check_gap(0x1150, near, UNWIND_CFA_NONE);
}

/* Boost's fibers return to code that ends the program; the rest of that gap has no rule. */
TEST(gap_with_the_end_of_stacks)
{
	static const char plain[] = "\x55\xff\xe3\x48\x31\xff\xe8\x10\0\0\0\xf4",
			  marked[] = "\x55\xff\xe3\xf3\x0f\x1e\xfa\x48\x31\xff\xe8\x10\0\0\0\xf4",
			  other[] = "\x55\xff\xe3\x48\x31\xc0\xe8\x10\0\0\0\xf4";
	static const struct {
		const char *code;
		size_t size, end; /* end 0: no stack ends there */
	} cases[] = {{plain, sizeof(plain), 11},
		     {marked, sizeof(marked), 15},
		     {other, sizeof(other), 0}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cfi_fixture *f = cfi_fixture_new();
		size_t cie = put_usual_cie(&f->section, &unwind_arch_x86_64);
		char code[0xc0] = {0};

		memcpy(code + 0x2c, cases[i].code, cases[i].size);
		f->gap = code;
		cfi_fixture_put_fde(f, cie, 0x1100, 0x40, 16);
		cfi_fixture_put_fde(f, cie, 0x1200, 0x40, 32);
		assert_int_equal(cfi_fixture_compile(f), 0);
		for (size_t at = 0; at < sizeof(code); at++)
			assert_int_equal(cfi_fixture_rule(f, 0x1140 + at).cfa_kind,
					 at >= 0x2c && at < 0x2c + cases[i].end ? UNWIND_CFA_END
										: UNWIND_CFA_NONE);
		assert_int_equal(cfi_fixture_offset(f, 0x1200), 32);
		cfi_fixture_free(f);
	}
}

/* GHC's StgRun(): all is relative to a CFA below the stack pointer of the caller. */
static void put_stg_run(struct cfi_fixture *f, size_t cie, uint64_t start)
{
	static const char program[] = "\x0c\x07\x00" /* CFA = rsp */
				      "\x11\x06\xff\x6f" /* rbp at CFA + 16392 */
				      "\x11\x10\xfa\x6f" /* return address at CFA + 16432 */
				      "\x16\x07\x04\x77\xb8\x80\x01"; /* rsp + 16440 */

	put_usual_fde(&f->section, cie, start, 0x40, program, sizeof(program) - 1);
}

TEST(haskell_has_the_rule_of_the_function_that_runs_it)
{
	static char code[0x2000] = {[0xff0] = '\xff', '\x65', '\0'};

	for (int i = 0; i < 3; i++) {
		struct cfi_fixture *f = cfi_fixture_new();
		size_t cie = put_usual_cie(&f->section, &unwind_arch_x86_64);
		struct unwind_rule rule;

		f->gap = i == 1 ? code + 0xff1 : code;
		cfi_fixture_put_fde(f, cie, 0x1100, 0x40, 16);
		if (i < 2)
			put_stg_run(f, cie, 0x1100 + 0x1100);
		cfi_fixture_put_fde(f, cie, 0x1100 + 0x2200, 0x40, 16);
		assert_int_equal(cfi_fixture_compile(f), 0);
		rule = cfi_fixture_rule(f, 0x1140);
		if (i == 0) {
			assert_int_equal(rule.cfa_kind, UNWIND_CFA_REG);
			assert_int_equal(rule.cfa_offset, 16440);
			assert_int_equal(rule.ra_offset, -1);
			assert_int_equal(rule.fp_offset, -6);
		} else {
			assert_int_equal(rule.cfa_kind, UNWIND_CFA_NONE);
		}
		if (i < 2)
			assert_int_equal(cfi_fixture_offset(f, 0x2210), 16440);
		cfi_fixture_free(f);
	}
}

/* An FDE of .debug_frame with CFA = rsp + offset. */
static void put_debug_fde(struct cfi_bytes *b, uint64_t start, uint64_t size, unsigned int offset)
{
	put_u32(b, 4 + 8 + 8 + 3);
	put_u32(b, 0);
	put_u64(b, start);
	put_u64(b, size);
	put_u8(b, 0x0e); /* DW_CFA_def_cfa_offset */
	put_u8(b, offset);
	put_u8(b, 0); /* DW_CFA_nop */
}

/* gcc -fno-asynchronous-unwind-tables: the C runtime's FDEs are in .eh_frame, all others here. */
TEST(debug_frame_fills_gaps)
{
	static const char cie[] = "\x10\0\0\0\xff\xff\xff\xff\x04\0\x08\0\x01\x78\x10"
				  "\x0c\x07\x08\x90\x01";
	struct cfi_fixture *f = cfi_fixture_new();
	size_t usual = put_usual_cie(&f->section, &unwind_arch_x86_64);

	cfi_fixture_put_fde(f, usual, 0x1100, 0x40, 16);
	cfi_fixture_put_fde(f, usual, 0x1200, 0x40, 24);
	put_bytes(&f->more, cie, sizeof(cie) - 1);
	put_debug_fde(&f->more, 0x1300, 0x20, 80); /* behind all others, first here */
	put_debug_fde(&f->more, 0x1020, 0x20, 32); /* before them */
	put_debug_fde(&f->more, 0x1120, 0x30, 40); /* begins in another */
	put_debug_fde(&f->more, 0x1160, 0x10, 48);
	put_debug_fde(&f->more, 0x1180, 0x90, 56); /* reaches into another */
	assert_int_equal(cfi_fixture_compile(f), 0);
	assert_int_equal(cfi_fixture_offset(f, 0x101f), -1);
	assert_int_equal(cfi_fixture_offset(f, 0x1020), 32);
	assert_int_equal(cfi_fixture_offset(f, 0x1040), -1);
	assert_int_equal(cfi_fixture_offset(f, 0x113f), 16);
	assert_int_equal(cfi_fixture_offset(f, 0x1140), -1);
	assert_int_equal(cfi_fixture_offset(f, 0x1160), 48);
	assert_int_equal(cfi_fixture_offset(f, 0x1170), -1);
	assert_int_equal(cfi_fixture_offset(f, 0x11ff), 56);
	assert_int_equal(cfi_fixture_offset(f, 0x1200), 24);
	assert_int_equal(cfi_fixture_offset(f, 0x1240), -1);
	assert_int_equal(cfi_fixture_offset(f, 0x131f), 80);
	assert_int_equal(cfi_fixture_offset(f, 0x1320), -1);
	/* musl's entry lies in such a gap. */
	f->entry = 0x1150;
	assert_int_equal(cfi_fixture_compile(f), 0);
	assert_int_equal(cfi_fixture_offset(f, 0x1140), -1);
	assert_int_equal(cfi_fixture_rule(f, 0x1150).cfa_kind, UNWIND_CFA_END);
	assert_int_equal(cfi_fixture_offset(f, 0x1160), 48);
	cfi_fixture_free(f);
}
