/* SPDX-License-Identifier: MIT */
/* Places in a vmlinux that the kernel patches at boot or while it runs. */
#pragma once

#include "lib/base/bytes.h"
#include "lib/code/binary/binary.h"

/* The kernel's table of static keys: jumps and no-operations that replace each other. */

struct jump_place {
	uint64_t vaddr;
	uint32_t size; /* size of the instruction */
};

struct jump_table {
	VEC(struct jump_place) places;
};

/*
 * Finds the table in a vmlinux. It has no section of its own and its symbols may be stripped, so it
 * is recognized by a run of entries that all refer to such instructions. `summary` describes fd,
 * which is borrowed.
 */
void jump_table_find(struct jump_table *t, int fd, const struct binary_summary *summary,
		     const uint8_t *section, size_t size, uint64_t vaddr);
void jump_table_release(struct jump_table *t);

struct patched_place {
	uint64_t rva;
	uint32_t size;
	const char *how;
};

struct patched_code {
	VEC(struct patched_place) places; /* in ascending order */
};

/* The result is empty if the file has no such places or cannot be read. fd is borrowed. */
void patched_code_read(struct patched_code *p, int fd);
void patched_code_release(struct patched_code *p);
/*
 * Returns the kernel's change to the instruction at `rva`; NULL if the file records none. `callee`:
 * name of the function that it calls or jumps to; NULL: none.
 */
const char *patched_code_find(const struct patched_code *p, uint64_t rva, uint32_t size,
			      const char *callee);
