/* SPDX-License-Identifier: MIT */
/*
 * The parts of an ELF file that names are found in: symbols, unwind tables, notes, debug
 * information. Parts left out are marked in the table of sections, as in a separate debug file.
 */
#ifndef PROF_LIB_CODE_BINARY_ESSENTIAL_PARTS_H
#define PROF_LIB_CODE_BINARY_ESSENTIAL_PARTS_H

#include <stdint.h>

#include "lib/base/vec.h"

struct essential_part {
	uint64_t offset, size;
};

struct essential_parts {
	/* To be read from the file; without the table of sections. */
	VEC(struct essential_part) rows;
	uint8_t *sections; /* the changed table; owned; NULL: the rows have everything */
	uint64_t sections_offset, sections_size;
	uint64_t bytes; /* of all */
};

/*
 * Chooses the parts of an open file, which is borrowed: at most `limit` bytes, if need be without
 * debug information. -EFBIG: there is more; -ENOEXEC: it is no ELF file; or another negative errno.
 */
int essential_parts_find(struct essential_parts *parts, int fd, uint64_t limit);
void essential_parts_release(struct essential_parts *parts);

#endif
