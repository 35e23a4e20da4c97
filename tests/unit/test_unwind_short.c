/* SPDX-License-Identifier: MIT */
/* CFI programs yield the same rows whether they are run by words or byte by byte. */

#include <stdlib.h>
#include <string.h>

#include "tests/unit/cfi_bytes.h"
#include "tests/unit/test.h"

#define START 0x1100
#define SIZE 3000

/* Repeatable. */
static uint32_t next_random(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 16;
}

/* First bytes of instructions; random bytes follow. "": DW_CFA_nop */
static const char *const pieces[] = {
	"",	    "\x41",	"\x44",		"\x7f",		"\x40",	    "\x0e\x10",
	"\x0e\x30", "\x0e\x88", "\x0e\x90\x01", "\x0e\x90\x81", "\x0e",	    "\x86\x02",
	"\x83\x03", "\x8c\x04", "\x86\x90\x01", "\x83",		"\x90\x02", "\x87\x02",
	"\x02\x20", "\x02",	"\x03\x10\x01", "\x03\x10",	"\x0a",	    "\x0b",
	"\xc6",	    "\xc3",	"\x0c\x06\x10", "\x0d\x06",	"\x07\x10", "\x08\x03",
	"\x04\x01", "\x2e\x10",
};
#define PIECE_COUNT (sizeof(pieces) / sizeof(pieces[0]))

static void put_program(struct cfi_bytes *b, uint32_t *seed)
{
	uint32_t count = next_random(seed) % 24;

	for (uint32_t i = 0; i < count; i++) {
		const char *piece = pieces[next_random(seed) % PIECE_COUNT];

		put_bytes(b, piece, strlen(piece) + !*piece);
	}
	for (uint32_t i = next_random(seed) % 8; i > 0; i--)
		put_u8(b, 0);
}

/* A CIE without FDEs, whose length's first byte would be an instruction, too. */
static void put_what_follows(struct cfi_bytes *b, uint32_t length)
{
	put_u32(b, length);
	while (length--)
		put_u8(b, 0);
}

/* Compiles one program; without anything behind it in the section, it is run byte by byte. */
static struct cfi_fixture *compile(uint32_t seed, const struct unwind_arch *arch, bool at_the_end)
{
	static const uint8_t lengths[] = {0x0a, 0x0b, 0x0e, 0x44, 0x86, 0x10};
	struct cfi_fixture *f = cfi_fixture_new();
	size_t cie = put_usual_cie(&f->section, arch);

	f->arch = arch;
	put_fde(&f->section, cie);
	put_u32(&f->section, START - (CFI_VADDR + f->section.size));
	put_u32(&f->section, next_random(&seed) % SIZE);
	put_uleb(&f->section, 0);
	put_program(&f->section, &seed);
	put_end(&f->section);
	if (!at_the_end)
		put_what_follows(&f->section, lengths[seed % sizeof(lengths)]);
	assert_int_equal(cfi_fixture_compile(f), 0);
	return f;
}

static void assert_equal_tables(const struct cfi_fixture *a, const struct cfi_fixture *b)
{
	assert_int_equal(a->table.rows.count, b->table.rows.count);
	assert_int_equal(a->rules.rows.count, b->rules.rows.count);
	assert_memory_equal(&a->table.stats, &b->table.stats, sizeof(a->table.stats));
	if (a->table.rows.count)
		assert_memory_equal(a->table.rows.items, b->table.rows.items,
				    a->table.rows.count * sizeof(*a->table.rows.items));
	assert_memory_equal(a->rules.rows.items, b->rules.rows.items,
			    a->rules.rows.count * sizeof(*a->rules.rows.items));
}

TEST(both_ways_give_the_same_rows)
{
	const struct unwind_arch *archs[] = {&unwind_arch_x86_64, &unwind_arch_aarch64};
	size_t rows = 0, malformed = 0;

	for (uint32_t seed = 0; seed < 20000; seed++) {
		struct cfi_fixture *bytes = compile(seed, archs[seed % 2], true);
		struct cfi_fixture *words = compile(seed, archs[seed % 2], false);

		assert_equal_tables(bytes, words);
		rows += words->table.rows.count;
		malformed += words->table.stats.malformed;
		cfi_fixture_free(bytes);
		cfi_fixture_free(words);
	}
	/* Some are broken, some are not. */
	assert_in_range(malformed, 4000, 16000);
	assert_in_range(rows, 40000, SIZE_MAX);
}

/* DW_CFA_restore_state, the first byte of the next length, is outside of the program. */
TEST(a_program_ends_with_an_advance)
{
	static const char program[] = "\x0e\x20\x0a\x0e\x30\x44";
	struct cfi_fixture *f = cfi_fixture_new();
	size_t cie = put_usual_cie(&f->section, &unwind_arch_x86_64);

	put_usual_fde(&f->section, cie, START, 64, program, sizeof(program) - 1);
	put_what_follows(&f->section, 0x0b);
	assert_int_equal(cfi_fixture_compile(f), 0);
	assert_int_equal(cfi_fixture_offset(f, START + 63), 0x30);
	cfi_fixture_free(f);
}
