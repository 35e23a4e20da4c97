/* SPDX-License-Identifier: MIT */
/* An opened ELF file and its tables of symbols, shared by the only users of libelf. */
#pragma once

#include <gelf.h>
#include <libelf.h>

#include "lib/base/base.h"
#include "lib/code/binary/binary.h"

/* A string section, cut after its last terminator, so that every string ends within it. */
struct string_table {
	const char *text;
	size_t size;
};

struct lazy_names;

struct binary {
	Elf *elf;
	int fd; /* borrowed */
	struct string_table section_names;
	uint64_t file_size, first_vaddr;
	uint16_t machine;
	bool is_relocatable;
	VEC(uint64_t)
	section_addrs; /* addresses in a relocatable file, by section number; see binary.c */
	struct lazy_names **names; /* symbol names read so far; see symbols.h */
};

/* Returns NULL outside the table. */
const char *string_table_get(const struct string_table *table, uint64_t offset);

/* Returns the next section of a type after scn, and its header; NULL if there is none. */
Elf_Scn *section_of_type(Elf *elf, Elf_Scn *scn, uint32_t type, GElf_Shdr *header);

/* Returns true if the section's bytes lie in the file. Not for sections without any. */
bool section_is_in_file(const struct binary *b, const GElf_Shdr *header);

/* Returns the section's address: from its header, or for a relocatable file its location. */
uint64_t section_addr(const struct binary *b, size_t number, uint64_t sh_addr);

/*
 * Reads the rows of a symbol table and their names in small steps: the tables of large programs
 * have tens of megabytes, of which most callers need a few names.
 */

/* Names already read of a string section. They belong to the binary and live as long. */
struct lazy_names;

struct symbol_rows {
	struct lazy_names *names;
	int fd;
	uint64_t at, end; /* file range of the rows still to be read */
	size_t row_size;
	uint8_t *step; /* current batch of rows */
	size_t step_at, step_size;
	uint64_t count; /* total number of rows */
};

/*
 * Opens the first table of this type (SHT_SYMTAB, SHT_DYNSYM). Returns false if there is none in
 * the file. The caller closes it.
 */
bool symbol_rows_open(struct symbol_rows *rows, const struct binary *b, uint32_t type);
/* Returns the next row, skipping the empty first one. False: there are no more. */
bool symbol_rows_next(struct symbol_rows *rows, GElf_Sym *symbol);
/* Reads all names at once, which is faster if most of them are needed. */
void symbol_rows_need_names(const struct symbol_rows *rows);
/* Returns the name of a row, cut after 64 KB; NULL if it does not end within the table. */
const char *symbol_rows_name(const struct symbol_rows *rows, const GElf_Sym *symbol);
void symbol_rows_close(struct symbol_rows *rows);

/* Bytes of a row in the file. */
size_t symbol_row_size(const struct binary *b);
/* Decodes a row of a table, sizeof(Elf64_Sym) or sizeof(Elf32_Sym) bytes. */
void symbol_row_read(const uint8_t *row, size_t size, GElf_Sym *symbol);

/* Opens a string section, once for each binary. NULL: there is none of that number in the file. */
struct lazy_names *lazy_names_open(const struct binary *b, size_t section);
/* Returns the name at an offset, cut after 64 KB; NULL if it does not end within the section. */
const char *lazy_names_get(struct lazy_names *names, uint64_t start);
/* Frees a list of names. */
void lazy_names_free(struct lazy_names *names);
