/* SPDX-License-Identifier: MIT */
/*
 * Function bounds of a file without symbols: each function has an FDE of its own. A part that a
 * compiler split off (".cold") has one, too.
 */
#ifndef PROF_LIB_CODE_UNWIND_FDE_RANGES_H
#define PROF_LIB_CODE_UNWIND_FDE_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"

struct fde_ranges;

/* A function; addresses are vaddrs minus that of the first PT_LOAD. */
struct fde_range {
	uint64_t rva, size;
	bool is_entry; /* beginning of a program */
};

/*
 * Reads the call frame information of a file; `fd` is borrowed until fde_ranges_free(). -ENOENT if
 * it has none, -ENOEXEC if it is not an ELF file of a supported machine, -EFBIG if it is too large.
 */
int fde_ranges_new(struct fde_ranges **out, int fd, struct error *err);
/* NULL is fine. */
void fde_ranges_free(struct fde_ranges *r);
/* Finds the function around an address. False: none, or not in code. */
bool fde_ranges_find(struct fde_ranges *r, uint64_t rva, struct fde_range *range);

#endif
