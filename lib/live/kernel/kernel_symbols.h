/* SPDX-License-Identifier: MIT */
/* Those symbols of the kernel that cover addresses which occur, by the kernel's own search. */
#ifndef PROF_LIB_LIVE_KERNEL_KERNEL_SYMBOLS_H
#define PROF_LIB_LIVE_KERNEL_KERNEL_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/strbuf.h"
#include "lib/live/bpf/programs.h"

/* See recorder_list_symbols(). */
int kernel_symbols_list(struct programs *programs, const uint64_t *addrs, size_t count);

/* What the kernel says of one of its addresses; texts are parts of what it said. */
struct kernel_symbol_text {
	uint64_t start, size;
	const char *name;
	size_t name_size;
	const char *module; /* "[ext4]"; NULL: the image's */
};

/* "name+0x12/0x34 [module]", said of that address; false where it is no symbol. */
bool kernel_symbol_parse(struct kernel_symbol_text *symbol, uint64_t addr, const char *said);
/*
 * Adds what the kernel says about an address ("name+0x12/0x34 [module]") as lines of
 * /proc/kallsyms: the symbol, and where it ends. Returns that end; 0, and adds nothing, where there
 * is no symbol.
 */
uint64_t kernel_symbols_add(struct strbuf *list, uint64_t addr, const char *said);

#endif
