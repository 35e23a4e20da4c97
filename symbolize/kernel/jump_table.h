/* SPDX-License-Identifier: MIT */
/* The kernel's table of static keys: jumps and no-operations that become each other. */
#ifndef PROF_SYMBOLIZE_KERNEL_JUMP_TABLE_H
#define PROF_SYMBOLIZE_KERNEL_JUMP_TABLE_H

#include <stdint.h>

#include "lib/base/bytes.h"
#include "lib/code/binary/binary.h"

struct jump_place {
	uint64_t vaddr;
	uint32_t size; /* of the instruction */
};

struct jump_table {
	VEC(struct jump_place) places;
};

/*
 * Finds the table in a section of a vmlinux. No section is the table's own, and its symbols may be
 * stripped, so it is known by its entries: a run of them that all lead to such instructions. fd, of
 * which `summary` is, is borrowed.
 */
void jump_table_find(struct jump_table *t, int fd, const struct binary_summary *summary,
		     const uint8_t *section, size_t size, uint64_t vaddr);
void jump_table_release(struct jump_table *t);

#endif
