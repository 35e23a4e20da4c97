/* SPDX-License-Identifier: MIT */
/*
 * The symbols of a module, of its own file and of a separate one together, and linkers' stubs. Read
 * once, however many workers ask: all functions but those that make and free it are for any thread.
 */
#ifndef PROF_SYMBOLIZE_ELF_SYMBOL_TABLE_H
#define PROF_SYMBOLIZE_ELF_SYMBOL_TABLE_H

#include "lib/base/error.h"
#include "lib/binary/binary.h"

struct symbol_table;

/*
 * Both descriptors are borrowed for the table's life; -1: there is no such file. -ENOENT where
 * there is neither a symbol nor a stub, -ENOEXEC where that is because the own file is damaged.
 */
int symbol_table_new(struct symbol_table **out, int own, int separate, struct error *err);
/* NULL is fine. */
void symbol_table_free(struct symbol_table *t);

/*
 * The innermost symbol around the address, of several for one place the one that names it best.
 * Its vaddr is an RVA, its size settled. NULL: there is none.
 */
const struct binary_symbol *symbol_table_find(const struct symbol_table *t, uint64_t rva);
/* The stub around the address, with vaddrs as the file has them; NULL: there is none. */
const struct binary_stub *symbol_table_find_stub(struct symbol_table *t, uint64_t rva);
/* What RVAs are relative to in the own file; 0 where that is not at hand. */
uint64_t symbol_table_first_vaddr(const struct symbol_table *t);

#endif
