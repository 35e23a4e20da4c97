/* SPDX-License-Identifier: MIT */
/* A section of a file whose pages are read when they are needed. */
#ifndef PROF_LIB_CODE_BINARY_PAGED_SECTION_H
#define PROF_LIB_CODE_BINARY_PAGED_SECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/code/binary/unpack.h"

struct paged_section {
	struct file_part from;
	uint8_t *memory; /* of from.size bytes, borrowed; NULL: no section */
	uint64_t *there; /* a bit a page */
};

/* `memory` is zeroed, and stays so where nothing was needed. */
void paged_section_init(struct paged_section *s, const struct file_part *from, uint8_t *memory);
/* Reads the bytes from `start` to `end`. False if the file has fewer. */
bool paged_section_need(struct paged_section *s, uint64_t start, uint64_t end);
/* Accepts a zeroed struct. */
void paged_section_release(struct paged_section *s);

#endif
