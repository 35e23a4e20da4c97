/* SPDX-License-Identifier: MIT */
/*
 * Chooses the symbols that decide the names of some addresses, out of tables that may have a
 * million rows. The name of an address within a symbol of known size is decided by such symbols
 * around it and by what else lies at their places, which competes with them. Nothing else counts.
 *
 * Tables are read twice: near_symbols_mark() finds the places, near_symbols_wants() chooses all
 * that lies there. Both are members of a struct binary_symbol_filter, with this as its context.
 */
#ifndef PROF_SYMBOLIZE_ELF_NEAR_SYMBOLS_H
#define PROF_SYMBOLIZE_ELF_NEAR_SYMBOLS_H

#include "lib/binary/binary.h"

#define NEAR_SYMBOLS_GRID 4096

/* Addresses in order, of which most ranges can be told at a glance to hold none. */
struct near_addresses {
	VEC(uint64_t) rows;
	unsigned int shift;
	uint64_t grid[NEAR_SYMBOLS_GRID / 64]; /* bits, by the address >> shift */
};

/* Zeroed at first. */
struct near_symbols {
	struct near_addresses wanted, places; /* RVAs */
	uint64_t
		first_vaddr; /* set by the caller: RVAs of the file being read are relative to it */
	size_t label_count;
};

/* More labels than these are not marked. */
#define NEAR_SYMBOLS_LABELS 1024

/* Copies the RVAs, which ascend. */
void near_symbols_begin(struct near_symbols *n, const uint64_t *rvas, size_t count);
/* True for a label without a size, from where a wanted address may be reached. */
bool near_symbols_mark(void *ctx, const struct binary_symbol *symbol);
/* Runs between the two passes. */
void near_symbols_seal(struct near_symbols *n);
bool near_symbols_wants(void *ctx, const struct binary_symbol *symbol);
/* Is this one of the wanted addresses? */
bool near_symbols_has(const struct near_symbols *n, uint64_t rva);
void near_symbols_release(struct near_symbols *n);

#endif
