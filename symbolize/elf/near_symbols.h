/* SPDX-License-Identifier: MIT */
/*
 * Chooses the symbols that decide the names of some addresses, out of tables that may have a
 * million rows. The name of an address within symbols of known size is decided by them and by what
 * else lies at their places, which competes with them. Outside of them, a label without a size may
 * reach it from behind the last of them. Nothing else counts.
 *
 * Tables are read twice: near_symbols_mark() finds the places, near_symbols_wants() chooses all
 * that lies there. Both are members of a struct binary_symbol_filter, with this as its context.
 */
#ifndef PROF_SYMBOLIZE_ELF_NEAR_SYMBOLS_H
#define PROF_SYMBOLIZE_ELF_NEAR_SYMBOLS_H

#include "lib/code/binary/binary.h"

#define NEAR_SYMBOLS_GRID 4096

/* Addresses in order, and for each cell of a grid over them the first that is not before it. */
struct near_addresses {
	VEC(uint64_t) rows;
	unsigned int shift; /* to the cell of an address */
	uint32_t first[NEAR_SYMBOLS_GRID];
};

/* Zeroed at first. */
struct near_symbols {
	struct near_addresses wanted, places; /* RVAs */
	VEC(uint64_t) before; /* by wanted address: where the last symbol with a size begins, + 1 */
	/* Set by the caller: RVAs of the file being read are relative to it. */
	uint64_t first_vaddr;
	size_t label_count;
};

/* More labels than these are not marked. */
#define NEAR_SYMBOLS_LABELS 1024

/* Puts the wanted addresses in order, once the caller has added them all to wanted.rows. */
void near_symbols_begin(struct near_symbols *n);
/* True for a label without a size, from where a wanted address may be reached. */
bool near_symbols_mark(void *ctx, const struct binary_symbol *symbol);
/* Runs between the two passes. */
void near_symbols_seal(struct near_symbols *n);
bool near_symbols_wants(void *ctx, const struct binary_symbol *symbol);
/* Is this one of the wanted addresses? */
bool near_symbols_has(const struct near_symbols *n, uint64_t rva);
void near_symbols_release(struct near_symbols *n);

#endif
