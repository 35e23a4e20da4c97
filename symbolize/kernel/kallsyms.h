/* SPDX-License-Identifier: MIT */
/* The kernel's own list of its symbols, parsed once for all kernel modules of a profile. */
#ifndef PROF_SYMBOLIZE_KERNEL_KALLSYMS_H
#define PROF_SYMBOLIZE_KERNEL_KALLSYMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/error.h"

struct kallsyms;

struct kernel_symbol {
	uint64_t start, size; /* size: up to the next symbol */
	const char *name; /* the table's */
	const char *module; /* "[ext4]"; NULL: the image's */
};

/*
 * Reads the whole of /proc/kallsyms, or a copy of it, from the start of fd (borrowed). -ENOENT
 * where the kernel hides its addresses, all of which are 0 then.
 */
int kallsyms_read(struct kallsyms **out, int fd, struct error *err);
/* As kallsyms_read(), from text that is taken over (from malloc) even on failure. */
int kallsyms_parse(struct kallsyms **out, char *text, size_t size, struct error *err);
/* NULL is fine. */
void kallsyms_free(struct kallsyms *k);
/* The code symbol that covers the address; false where there is none near enough. */
bool kallsyms_find(const struct kallsyms *k, uint64_t addr, struct kernel_symbol *symbol);

#endif
