/* SPDX-License-Identifier: MIT */
/* Finds the table of functions of a Go program, and the address that it counts from. */
#ifndef PROF_LIB_CODE_UNWIND_GO_FILE_H
#define PROF_LIB_CODE_UNWIND_GO_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/code/binary/pclntab.h"
#include "lib/code/unwind/cfi_file.h"

struct go_file {
	const struct cfi_file *file; /* borrowed */
	struct pclntab table;
	uint64_t text; /* vaddr of the start of Go's code */
	uint64_t vaddr; /* of the table */
	uint8_t *data; /* the section that holds the table; owned */
	uint8_t *relocations; /* .rela.dyn, once a word of it was asked for; owned */
	size_t relocations_size;
};

/*
 * Finds the table by its section, or by its first bytes in .data.rel.ro, where the system's linker
 * puts it. False: no Go program, one of an older version than Go 1.18, or a damaged one; nothing is
 * to be released then.
 */
bool go_file_find(struct go_file *go, const struct cfi_file *file);
/*
 * Returns "gofunc", the vaddr that the places of a function's data count from (struct moduledata of
 * Go's runtime); 0: not found.
 */
uint64_t go_file_data(struct go_file *go);
void go_file_release(struct go_file *go);
/*
 * Returns the addend of the relocation (ELF gABI, Rela) of a word, and its type, 0 if none.
 */
uint64_t go_relocated_word(struct go_file *go, uint64_t vaddr, uint32_t *type);

#endif
