/* SPDX-License-Identifier: MIT */
/* The opened ELF file, shared by the files of this room, the only users of libelf. */
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

/* Empty if the section does not hold strings or has no terminator. */
struct string_table string_table_open(Elf *elf, size_t section);
/* Returns NULL outside the table. */
const char *string_table_get(const struct string_table *table, uint64_t offset);

/* Returns the next section of a type after scn, and its header; NULL if there is none. */
Elf_Scn *section_of_type(Elf *elf, Elf_Scn *scn, uint32_t type, GElf_Shdr *header);

/* Returns true if the section's bytes lie in the file. Not for sections without any. */
bool section_is_in_file(const struct binary *b, const GElf_Shdr *header);

/* Returns the section's address: from its header, or for a relocatable file its location. */
uint64_t section_addr(const struct binary *b, size_t number, uint64_t sh_addr);
