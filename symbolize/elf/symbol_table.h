/* SPDX-License-Identifier: MIT */
/*
 * The symbols of a module, from its own and a separate file, and linkers' stubs. Reads symbols
 * around expected addresses first, and all symbols once any other address is looked up. One table
 * serves all workers: all functions except those that make and free it are thread-safe.
 */
#pragma once

#include <pthread.h>

#include "lib/base/base.h"
#include "lib/code/binary/binary.h"
#include "lib/code/unwind/eh_frame.h"

struct symbol_table;

struct symbol_table_input {
	int own, separate; /* descriptors, borrowed while the table exists; -1: no such file */
	/* expected addresses, ascending; others are slower; may be empty */
	const uint64_t *rvas;
	size_t rva_count;
};

/*
 * Returns -ENOENT if there is neither a symbol nor a stub, or -ENOEXEC if that is because the
 * module's own file is damaged.
 */
int symbol_table_new(struct symbol_table **out, const struct symbol_table_input *input,
		     struct error *err);
/* Accepts NULL. */
void symbol_table_free(struct symbol_table *t);

/*
 * Finds the innermost symbol around the address, with the best name among aliases; NULL if there is
 * none. Its vaddr is an RVA, and its size is final.
 */
const struct binary_symbol *symbol_table_find(struct symbol_table *t, uint64_t rva);
/* Returns true if a function may begin at the next address: functions after padding are aligned. */
static inline bool symbol_table_is_before_function(uint64_t rva)
{
	return (rva + 1) % 16 == 0 && rva != UINT64_MAX;
}

/*
 * Returns the size of the symbol's code. If only the next exported symbol bounds it, its
 * instructions determine the size.
 */
uint64_t symbol_table_code_size(struct symbol_table *t, const struct binary_symbol *symbol);
/* Finds the stub around the address, with vaddrs as in the file; NULL if there is none. */
const struct binary_stub *symbol_table_find_stub(struct symbol_table *t, uint64_t rva);
/*
 * Returns the vaddr to which RVAs are relative in the module's own file; 0 if the file is not
 * available.
 */
uint64_t symbol_table_first_vaddr(const struct symbol_table *t);

/* The functions of a module according to its call frame information, read once for all workers. */

struct shared_fdes {
	int fd; /* the module's own file, borrowed; -1: none */
	pthread_mutex_t lock; /* guards the members below */
	bool was_read; /* the FDEs were read, on the first lookup */
	struct fde_ranges *ranges; /* NULL: not available */
};

void shared_fdes_init(struct shared_fdes *s, int fd);
void shared_fdes_release(struct shared_fdes *s);
/* Finds the function around the address, from any thread. Returns false if unknown. */
bool shared_fdes_find(struct shared_fdes *s, uint64_t rva, struct fde_range *range);
