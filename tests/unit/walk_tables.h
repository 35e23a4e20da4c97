/* SPDX-License-Identifier: MIT */
/*
 * Unwind tables of files in plain memory, for the walker outside the kernel: one shard per file,
 * laid out as in a recording.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/code/binary/binary.h"
#include "lib/stream/process/mapping.h"
#include "lib/code/unwind/unwind_table.h"
#include "lib/code/unwind/user_walk.h"

struct walk_module {
	int fd; /* owned; -1: none */
	struct binary_summary summary;
	uint64_t entry, table_start;
	uint32_t page_count, rows_at;
};

struct walk_tables {
	struct unwind_rules rules;
	VEC(struct walk_module) modules;
	VEC(struct walk_shard) shards; /* a module's index is its number; the words are owned */
	VEC(struct unwind_mapping) mappings; /* of walk_tables_describe() */
};

void walk_tables_init(struct walk_tables *t);
void walk_tables_release(struct walk_tables *t);
/*
 * Takes ownership of fd in any case. Returns the module's number; adds no table if the file has
 * none.
 */
uint32_t walk_tables_add(struct walk_tables *t, int fd);
/* Returns the vaddr of a file offset, by the executable segment that covers it. */
bool walk_tables_vaddr(const struct walk_tables *t, uint32_t module, uint64_t offset,
		       uint64_t *vaddr);
/* Fills t->mappings; mapping.module is a module's number, or MAPPING_ANON. */
void walk_tables_describe(struct walk_tables *t, const struct mapping_table *mappings);
/*
 * Sets everything in the target but the copied memory and the code. Valid until something is added.
 */
void walk_tables_target(const struct walk_tables *t, struct walk_target *target);
/* Returns the rule for an address, as the walker finds it; NULL: outside of all mappings. */
const struct unwind_rule *walk_tables_rule(const struct walk_tables *t, uint64_t addr,
					   const struct unwind_mapping **mapping);
