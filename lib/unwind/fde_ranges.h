/* SPDX-License-Identifier: MIT */
/*
 * Where the functions of a file without symbols begin and end: each has an FDE of its own. What a
 * compiler split off (".cold") has one, too.
 */
#ifndef PROF_LIB_UNWIND_FDE_RANGES_H
#define PROF_LIB_UNWIND_FDE_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/error.h"

struct fde_ranges;

/* A function, as vaddrs minus that of the first PT_LOAD. */
struct fde_range {
	uint64_t rva, size;
};

/*
 * Reads the call frame information of a file, of which fd is borrowed. -ENOENT where it has none,
 * -ENOEXEC where it is no ELF file of a supported machine, -EFBIG where it is too large.
 */
int fde_ranges_new(struct fde_ranges **out, int fd, struct error *err);
/* NULL is fine. */
void fde_ranges_free(struct fde_ranges *r);
/* The function around the address; false where there is none, or one outside of code. */
bool fde_ranges_find(struct fde_ranges *r, uint64_t rva, struct fde_range *range);

#endif
