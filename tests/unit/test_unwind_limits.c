/* SPDX-License-Identifier: MIT */
/*
 * CFI that is broken, or made to keep its reader busy: it costs rows, but neither time nor memory.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/cfi_bytes.h"
#include "tests/unit/test.h"

/* Cut anywhere: the FDEs before the cut are there, and nothing else. */
TEST(cut_sections)
{
	const size_t fde_size = 19, terminator_size = 4;
	size_t full = SIZE_MAX;

	for (size_t cut = 1; cut <= full; cut++) {
		struct cfi_fixture *f = cfi_fixture_three(3);
		uint64_t expected = cut > terminator_size + 2 * fde_size ? 0
				    : cut > terminator_size + fde_size	 ? 1
				    : cut > terminator_size		 ? 2
									 : 3;

		full = f->section.size;
		f->section.size -= cut;
		f->hdr.size = 0;
		assert_int_equal(cfi_fixture_compile(f), 0);
		assert_int_equal(f->table.stats.fdes, expected);
		assert_int_equal(cfi_fixture_offset(f, 0x1300), expected > 0 ? 48 : -1);
		assert_int_equal(cfi_fixture_offset(f, 0x1100), expected > 1 ? 16 : -1);
		cfi_fixture_free(f);
	}
}

/* Any byte may have any value. Nothing may crash, and results must be within bounds. */
TEST(changed_bytes)
{
	for (unsigned int at = 0;; at++) {
		for (unsigned int i = 0; i < 16; i++) {
			struct cfi_fixture *f = cfi_fixture_three(3);
			struct cfi_bytes *b = at < f->section.size ? &f->section : &f->hdr;
			size_t inner = at < f->section.size ? at : at - f->section.size;
			bool is_end = inner >= b->size;

			if (!is_end) {
				b->data[inner] ^= i < 8 ? 1u << i : 0x11 * (i - 7);
				assert_int_equal(cfi_fixture_compile(f), 0);
				assert_true(f->table.stats.rows < 100);
			}
			cfi_fixture_free(f);
			if (is_end)
				return;
		}
	}
}

/*
 * FDEs inside of FDEs, each reaching to the end of the section: run one by one, they would take
 * time proportional to the square of its size.
 */
TEST(programs_that_overlap)
{
	struct cfi_fixture *f = cfi_fixture_new();
	size_t cie = put_usual_cie(&f->section, &unwind_arch_x86_64), fdes[1000];

	put_hdr(&f->hdr, 1000);
	for (unsigned int i = 0; i < 1000; i++) {
		fdes[i] = put_usual_fde(&f->section, cie, 0x1100 + i, 1, "", 0);
		put_hdr_entry(&f->hdr, 0x1100 + i, fdes[i]);
	}
	for (unsigned int i = 0; i < 1000; i++) {
		uint32_t length = (uint32_t)(f->section.size - fdes[i] - 4);

		memcpy(f->section.data + fdes[i], &length, sizeof(length));
	}
	assert_int_equal(cfi_fixture_compile(f), 0);
	assert_true(f->table.stats.fdes <= 3);
	assert_true(f->table.stats.malformed > 0);
	cfi_fixture_free(f);
}

/* The same FDE again and again. */
TEST(a_table_that_repeats_itself)
{
	struct cfi_fixture *f = cfi_fixture_new();
	size_t cie = put_usual_cie(&f->section, &unwind_arch_x86_64);
	static char program[8000];
	size_t fde = put_usual_fde(&f->section, cie, 0x1100, 64, program, sizeof(program));

	put_hdr(&f->hdr, 5000);
	for (unsigned int i = 0; i < 5000; i++)
		put_hdr_entry(&f->hdr, 0x1100, fde);
	assert_int_equal(cfi_fixture_compile(f), 0);
	assert_true(f->table.stats.fdes <= 3);
	assert_int_equal(f->table.stats.malformed, 1);
	assert_int_equal(cfi_fixture_offset(f, 0x1100), 8);
	cfi_fixture_free(f);
}

/*
 * CIEs inside of CIEs, one per FDE: the program of each skips the head of the next and reaches to
 * the end of the section.
 */
TEST(initial_instructions_that_overlap)
{
	struct cfi_fixture *f = cfi_fixture_new();
	struct cfi_bytes *b = &f->section;
	const unsigned int count = 400;
	size_t cies[400], fdes;

	for (unsigned int i = 0; i < count; i++) {
		cies[i] = put_cie(b);
		put_text(b, "\x01\x00\x01\x78\x10\x0c\x07\x08");
		put_text(b, "\x16\x0c\x0d"); /* DW_CFA_val_expression r12, 13 bytes */
	}
	/* The last one skips all FDEs of 24 bytes each. */
	b->size--;
	put_uleb(b, 24 * count);
	fdes = b->size;
	for (unsigned int i = 0; i < count; i++) {
		/* FDEs that are checked before the table is trusted share one. */
		put_fde(b, cies[i == count / 2 || i == count - 1 ? 0 : i]);
		put_u64(b, 0x1100 + 16 * i);
		put_u64(b, 16);
		put_end(b);
	}
	assert_int_equal(b->size - fdes, 24 * count);
	for (unsigned int i = 0; i < count; i++) {
		uint32_t length = (uint32_t)(b->size - cies[i] - 4);

		memcpy(b->data + cies[i], &length, sizeof(length));
	}
	put_hdr(&f->hdr, count);
	for (unsigned int i = 0; i < count; i++)
		put_hdr_entry(&f->hdr, 0x1100 + 16 * i, fdes + 24 * (size_t)i);
	assert_int_equal(cfi_fixture_compile(f), 0);
	/* The first ones are as good as any; those beyond the budget have no rule. */
	assert_int_equal(cfi_fixture_offset(f, 0x1100), 8);
	assert_true(f->table.stats.fdes <= 5);
	assert_true(f->table.stats.malformed > 300);
	cfi_fixture_free(f);
}

/* A file cannot use up the rules of others; its excess is counted as gaps. */
TEST(rules_of_one_file_are_bounded)
{
	struct cfi_fixture *f = cfi_fixture_new();
	struct cfi_bytes *program = &f->hdr; /* as a buffer, for now */
	size_t cie = put_usual_cie(&f->section, &unwind_arch_x86_64);
	size_t many = ROWS_MAX_NEW_RULES + 100;

	for (unsigned int i = 0; i < many; i++) {
		put_u8(program, 0x0e);
		put_uleb(program, 16 + i);
		put_u8(program, 0x41);
	}
	put_usual_fde(&f->section, cie, 0x1100, many, program->data, program->size);
	program->size = 0;
	assert_int_equal(cfi_fixture_compile(f), 0);
	assert_int_equal(f->rules.rows.count, UNWIND_RULE_FIRST + ROWS_MAX_NEW_RULES);
	assert_int_equal(f->table.stats.unsupported, 100);
	assert_int_equal(cfi_fixture_offset(f, 0x1100 + ROWS_MAX_NEW_RULES - 1),
			 16 + ROWS_MAX_NEW_RULES - 1);
	assert_int_equal(cfi_fixture_offset(f, 0x1100 + ROWS_MAX_NEW_RULES), -1);
	cfi_fixture_free(f);
}

/* Two FDEs this far apart, in one part of code or in two. */
static int compile_distant(struct cfi_fixture *f, uint64_t distance, bool is_one)
{
	struct cfi_bytes *b = &f->section;
	size_t cie = put_cie(b);

	put_text(b, "\x01\x00\x01\x78\x10\x0c\x07\x08\x90\x01");
	put_end(b);
	for (int i = 0; i < 2; i++) {
		put_fde(b, cie);
		put_u64(b, 0x1100 + (i ? distance : 0));
		put_u64(b, 16);
		put_end(b);
	}
	f->code[0] = (struct code_range){0x1000, is_one ? 0x1200 + distance : 0x2000};
	if (!is_one)
		f->code[1] = (struct code_range){0x1000 + distance, 0x2000 + distance};
	return cfi_fixture_compile(f);
}

/* The number of pages depends on distance, not on the number of FDEs: gaps are not free. */
TEST(distant_code_is_refused)
{
	static const struct {
		uint64_t distance;
		int one, two;
	} cases[] = {
		{1ull << 20, 0, 0},
		{(ROWS_MAX_GAP_PAGES - 1ull) * UNWIND_PAGE_SIZE, 0, 0},
		{(ROWS_MAX_GAP_PAGES + 9ull) * UNWIND_PAGE_SIZE, 0, -EFBIG},
		{(ROWS_MAX_PAGES - 2ull) * UNWIND_PAGE_SIZE, 0, -EFBIG},
		{(ROWS_MAX_PAGES + 2ull) * UNWIND_PAGE_SIZE, -EFBIG, -EFBIG},
		{1ull << 62, -EFBIG, -EFBIG},
		{UINT64_MAX - 0x2000, -EFBIG, -EFBIG},
	};

	for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
		struct cfi_fixture *f = cfi_fixture_new();
		uint64_t distance = cases[i / 2].distance;
		int expected = i % 2 ? cases[i / 2].one : cases[i / 2].two;

		assert_int_equal(compile_distant(f, distance, i % 2), expected);
		if (expected == 0) {
			assert_int_equal(cfi_fixture_offset(f, 0x1100 + distance), 8);
			assert_int_equal(cfi_fixture_offset(f, 0x1100 + distance / 2), -1);
		}
		cfi_fixture_free(f);
	}
}
