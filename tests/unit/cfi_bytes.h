/* SPDX-License-Identifier: MIT */
/* Writes CFI byte by byte and compiles it, for the tests of lib/code/unwind. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/code/unwind/compile.h"

/* Addresses of a test's sections and code. */
#define CFI_VADDR 0x10000
#define HDR_VADDR 0x8000
#define CODE_START 0x1000
#define CODE_END 0x9000

struct cfi_bytes {
	uint8_t data[65536];
	size_t size;
	size_t entry; /* position of the open entry's length */
};

void put_u8(struct cfi_bytes *b, unsigned int value);
void put_u16(struct cfi_bytes *b, unsigned int value);
void put_u32(struct cfi_bytes *b, uint64_t value);
void put_u64(struct cfi_bytes *b, uint64_t value);
void put_uleb(struct cfi_bytes *b, uint64_t value);
void put_sleb(struct cfi_bytes *b, int64_t value);
void put_bytes(struct cfi_bytes *b, const void *bytes, size_t size);
#define put_text(b, text) put_bytes(b, text, sizeof(text) - 1)

/* Entries of .eh_frame: length, id. put_end() sets the length and adds no padding. */
size_t put_cie(struct cfi_bytes *b);
size_t put_fde(struct cfi_bytes *b, size_t cie);
void put_end(struct cfi_bytes *b);
/* The usual CIEs: version 1, "zR", pcrel|sdata4; CFA = sp + 8 or + 0, x86-64's return address. */
size_t put_usual_cie(struct cfi_bytes *b, const struct unwind_arch *arch);
/* An FDE of such a CIE, with that program. */
size_t put_usual_fde(struct cfi_bytes *b, size_t cie, uint64_t start, uint64_t size,
		     const void *program, size_t program_size);

/* A sorted table of FDEs of size `count`; put each entry with put_hdr_entry(). */
void put_hdr(struct cfi_bytes *b, unsigned int count);
void put_hdr_entry(struct cfi_bytes *b, uint64_t start, size_t fde);

/*
 * Input of a compilation. Zero it, then set what differs from x86-64's .eh_frame without a header.
 */
struct cfi_fixture {
	const struct unwind_arch *arch;
	struct cfi_bytes section, hdr, more;
	bool is_debug_frame;
	struct code_range code[2]; /* zero: CODE_START to CODE_END */
	const char *gap; /* code in all gaps; NULL: unknown */
	uint64_t entry; /* of a program; 0: a library */
	struct stubs stubs;
	struct unwind_rules rules;
	struct unwind_table table;
};

struct cfi_fixture *cfi_fixture_new(void);
/*
 * A fixture of x86-64 with three FDEs of 64 bytes, at 0x1300, 0x1100 and 0x1200 in this order, and
 * a linker's table that lists the first `listed` in order of address. Their CFAs are rsp + 48, 16,
 * 32.
 */
struct cfi_fixture *cfi_fixture_three(unsigned int listed);
/* Puts an FDE with CFA = rsp + offset, which tells it from others. */
size_t cfi_fixture_put_fde(struct cfi_fixture *f, size_t cie, uint64_t start, uint64_t size,
			   unsigned int offset);
void cfi_fixture_free(struct cfi_fixture *f);
/*
 * Compiles copies that end where their heap blocks end. Returns the result of compile_table();
 * aborts if the walker could not use the table.
 */
int cfi_fixture_compile(struct cfi_fixture *f);
/* Returns the rule at that vaddr, by the fixture's table. */
struct unwind_rule cfi_fixture_rule(const struct cfi_fixture *f, uint64_t vaddr);
/* Returns the rule's offset; -1 without a rule. */
int cfi_fixture_offset(const struct cfi_fixture *f, uint64_t vaddr);
