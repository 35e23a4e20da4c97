/* SPDX-License-Identifier: MIT */
/* Kernel symbols for sampled addresses, looked up by the kernel. */
#ifndef PROF_LIB_LIVE_KERNEL_KERNEL_SYMBOLS_H
#define PROF_LIB_LIVE_KERNEL_KERNEL_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct programs;

/* A parsed kernel symbol; strings point into the parsed text. */
struct kernel_symbol_text {
	uint64_t start, size;
	const char *name;
	size_t name_size;
	const char *module; /* "[ext4]", terminated; NULL: the kernel image */
};

/* *symbol is valid during the call only. */
typedef void kernel_symbol_fn(void *ctx, const struct kernel_symbol_text *symbol);

/* Parses `text`, the kernel's "name+0x12/0x34 [module]" for `addr`. False: not a symbol. */
bool kernel_symbol_parse(struct kernel_symbol_text *symbol, uint64_t addr, const char *text);
/* See recorder_find_symbols(). */
bool kernel_symbols_find(struct programs *programs, const uint64_t *addrs, size_t count,
			 kernel_symbol_fn *fn, void *ctx);

#endif
