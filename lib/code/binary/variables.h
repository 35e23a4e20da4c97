/* SPDX-License-Identifier: MIT */
/* Finds a variable of a program or library, and the memory of all its variables. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/vec.h"

/* A loaded segment. */
struct variable_segment {
	uint64_t file_offset, file_size, vaddr, size;
	bool executable, writable;
};

struct variables {
	VEC(struct variable_segment) segments; /* at most VARIABLE_SEGMENTS_MAX */
	uint64_t vaddr; /* of the variable; 0: none, or not named */
};

#define VARIABLE_SEGMENTS_MAX 64

/*
 * Reads the segments, and searches .dynsym and .symtab for a variable of that name and size. `v`
 * must be empty. Fails silently for files that are no 64-bit ELF files: they have no segments. `fd`
 * is borrowed.
 */
void variables_read(struct variables *v, int fd, const char *name, uint64_t size);
void variables_release(struct variables *v);
/*
 * Returns the difference of addresses in a process and in the file, given where the process has
 * mapped code from `file_offset`. False: that is no code of the file.
 */
bool variables_find_bias(const struct variables *v, uint64_t start, uint64_t file_offset,
			 uint64_t *bias);
