/* SPDX-License-Identifier: MIT */
/* Finds a Go program's function table and the base of its addresses. */
#pragma once

#include "lib/base/bytes.h"
#include "lib/code/unwind/cfi_file.h"

/*
 * Reads .gopclntab, the function table that Go's linker puts into each program. Go's runtime needs
 * it, so strip(1) keeps it. Supports Go 1.18 and newer (src/debug/gosym/pclntab.go and
 * src/runtime/symtab.go in Go's source). Functions are sorted by address; addresses are offsets
 * from the start of Go's code, "text". The bytes are untrusted.
 */

/* Size of the largest header. */
#define PCLNTAB_HEADER_SIZE 72
/* Offset of the address of "text" in the header up to Go 1.25; 0 in later versions. */
#define PCLNTAB_TEXT_AT 24

struct pclntab {
	const uint8_t *data; /* borrowed */
	size_t size;
	bool has_start_line; /* Go 1.20 and newer */
	uint8_t quantum; /* bytes of the smallest instruction */
	uint32_t count; /* functions */
	uint64_t text; /* vaddr, from the header; 0: not stored */
	uint64_t names, units, files, values, functions; /* offsets of parts */
};

/* Flags of a function (funcFlag in src/runtime/symtab.go). */
enum {
	PCLNTAB_TOP_FRAME = 1 << 0, /* the outermost function of a stack */
	PCLNTAB_WRITES_SP = 1 << 1, /* assembler that sets the stack pointer */
	PCLNTAB_ASSEMBLER = 1 << 2,
};

struct pclntab_function {
	uint64_t start, end; /* from "text" */
	const char *name; /* in the table; "" if unreadable */
	uint32_t start_line; /* line of its declaration; 0: unknown */
	uint32_t frame; /* its frame sizes, for pclntab_values_init() */
	uint32_t file, line; /* the same: its file numbers for pclntab_file(), and its lines */
	uint32_t inlined_calls; /* the same: its numbers of inlined calls; 0: none */
	uint32_t unit; /* its compilation unit, for pclntab_file() */
	/* Offset of its inlined calls from the module's "gofunc"; UINT32_MAX: none. */
	uint32_t call_tree;
	uint8_t flags;
};

/* An inlined call, as stored in a program's read-only data. */
struct pclntab_call {
	const char *name; /* of the inlined function, in the table */
	uint32_t start_line; /* line of its declaration; 0: unknown */
	uint32_t parent_pc; /* offset of the call's code in the calling function */
};

/* A value that changes along a function's code. */
struct pclntab_values {
	struct bytes bytes;
	uint8_t quantum;
	bool began;
	uint64_t end; /* offset in the function at which `value` ends */
	int32_t value;
};

/* Parses the header. False: missing, damaged, or of another version. */
bool pclntab_init(struct pclntab *table, const uint8_t *data, size_t size);
/* Parses function number `index`. False: damaged. */
bool pclntab_function(const struct pclntab *table, uint32_t index,
		      struct pclntab_function *function);
void pclntab_values_init(struct pclntab_values *values, const struct pclntab *table, uint32_t at);
/* Returns the value valid at an offset in a function; -1: none. */
int32_t pclntab_value_at(const struct pclntab *table, uint32_t at, uint64_t offset);
/* Finds the function around an offset from "text". False: none. */
bool pclntab_find(const struct pclntab *table, uint64_t offset, struct pclntab_function *function);
/* Returns the name of a file of a compilation unit; NULL: unknown. */
const char *pclntab_file(const struct pclntab *table, uint32_t unit, int32_t number);
/* Returns the bytes of an inlined call. */
size_t pclntab_call_size(const struct pclntab *table);
/* Parses an inlined call of pclntab_call_size() bytes. */
void pclntab_call(const struct pclntab *table, const uint8_t *data, struct pclntab_call *call);
/*
 * Reads the next value; the first is valid from the function's start on. Returns false after the
 * last.
 */
bool pclntab_values_next(struct pclntab_values *values);

struct go_file {
	const struct cfi_file *file; /* borrowed */
	struct pclntab table;
	uint64_t text; /* vaddr of the start of Go's code */
	uint64_t vaddr; /* of the table */
	uint8_t *data; /* contents of the section with the table; owned */
	uint8_t *relocations; /* .rela.dyn, read on first use; owned */
	size_t relocations_size;
};

/*
 * Finds the table by its section, or by its first bytes in .data.rel.ro, where the system linker
 * puts it. Returns false, with nothing to release, if it is not a Go program, older than Go 1.18,
 * or damaged.
 */
bool go_file_find(struct go_file *go, const struct cfi_file *file);
/*
 * Returns "gofunc", the vaddr to which offsets of functions' data are relative (struct moduledata
 * of Go's runtime); 0: not found.
 */
uint64_t go_file_data(struct go_file *go);
void go_file_release(struct go_file *go);
/* Returns the addend of a word's relocation (ELF gABI, Rela) and its type, 0 if there is none. */
uint64_t go_relocated_word(struct go_file *go, uint64_t vaddr, uint32_t *type);
