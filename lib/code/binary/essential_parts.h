/* SPDX-License-Identifier: MIT */
/*
 * The parts of an ELF file needed to find names: symbols, unwind tables, notes, debug information.
 * Omitted parts are marked in the section table, like those of a separate debug file.
 */
#pragma once

#include "lib/base/base.h"

struct essential_part {
	uint64_t offset, size;
};

struct essential_parts {
	/* Parts to read from the file, without the section table. */
	VEC(struct essential_part) rows;
	uint8_t *sections; /* changed section table, owned; NULL: included in the rows */
	uint64_t sections_offset, sections_size;
	uint64_t bytes; /* total number of bytes */
};

/*
 * Selects the parts of an open file, which is borrowed: at most `limit` bytes, if necessary without
 * debug information. Returns -EFBIG over the limit, -ENOEXEC if it is not an ELF file, or another
 * negative errno.
 */
int essential_parts_find(struct essential_parts *parts, int fd, uint64_t limit);
void essential_parts_release(struct essential_parts *parts);
