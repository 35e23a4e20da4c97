/* SPDX-License-Identifier: MIT */
/*
 * Which module lies where: the executable mappings of a process, or of the kernel. Forked processes
 * share one table until either changes it.
 */
#ifndef PROF_LIB_PROCESS_MAPPING_H
#define PROF_LIB_PROCESS_MAPPING_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/vec.h"

/* mapping.module of anonymous memory, which belongs to whoever it is looked up for. */
#define MAPPING_ANON (UINT32_MAX - 1)

struct mapping {
	uint64_t start, end; /* [start, end) */
	uint64_t file_offset; /* of start */
	uint32_t module; /* a number of the owner's, or MAPPING_ANON */
};

struct mapping_table {
	VEC(struct mapping) rows; /* ascending, without overlap */
	/*
	 * Two tables of the same stamp resolve every address alike: stamps are given once, and all
	 * empty tables have 0.
	 */
	uint64_t stamp;
	uint32_t holders; /* while there are several it does not change */
	uint32_t waiting; /* those of them that are records which wait for something */
	bool has_anon;
};

struct mapping_table *mapping_table_new(void);
/*
 * For a forked process, which starts with what its parent has; also for what has to be looked up as
 * things are now, some time later. The last holder's drop frees it.
 */
struct mapping_table *mapping_table_hold(struct mapping_table *t);
void mapping_table_drop(struct mapping_table *t);
/*
 * The same for a record that waits. A process that goes on to map things leaves a table behind for
 * each record that still holds it, so both tell how many bytes more, or less, wait with them.
 */
size_t mapping_table_await(struct mapping_table *t);
size_t mapping_table_settle(struct mapping_table *t);

/*
 * Replaces what *mapping overlaps; neighbours that continue each other become one row. Where the
 * table has other holders, *table is a copy afterwards. False: nothing changed (it was mapped
 * exactly so already, or is empty), and the stamp was not used.
 */
bool mapping_table_insert(struct mapping_table **table, const struct mapping *mapping,
			  uint64_t stamp);
/* A copy of a table that must not be shared. */
struct mapping_table *mapping_table_copy(const struct mapping_table *t, uint64_t stamp);
/* NULL: nothing is known to be mapped there. Valid until the next insert. */
const struct mapping *mapping_table_find(const struct mapping_table *t, uint64_t addr);

#endif
