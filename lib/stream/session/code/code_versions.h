/* SPDX-License-Identifier: MIT */
/*
 * Finds the code at an address of a process at a time. Indexes the code-table entries that cover an
 * address occurring in the profile.
 */
#ifndef PROF_LIB_STREAM_SESSION_CODE_CODE_VERSIONS_H
#define PROF_LIB_STREAM_SESSION_CODE_CODE_VERSIONS_H

#include "lib/model/tables/rebind_frames.h"
#include "lib/stream/session/code/code_table.h"

#define NO_CODE UINT32_MAX

/* Rows of one process in a table; each lasts until the next begins. */
struct code_range {
	uint32_t first, count;
};

struct code_version {
	uint32_t entry; /* row of the code table */
	uint32_t before; /* next older version, NO_CODE: none */
};

/* All versions of one address in one process. */
struct code_slot {
	process_id process;
	uint32_t addr; /* position in addrs */
	uint32_t latest; /* newest version */
};

struct code_versions {
	const struct code_table *table;
	const struct process_table *processes;
	VEC(uint64_t) addrs; /* ascending, each once */
	VEC(struct code_version) rows;
	VEC(struct code_slot) slots;
	struct index by_place; /* slots */
	struct code_range *execs; /* by process: its rows of table->execs */
	bool is_cut; /* version limit reached */
};

/*
 * Borrows all arguments; sorts the table's execs. `addrs` are the addresses to be asked for, in any
 * order.
 */
void code_versions_init(struct code_versions *v, struct code_table *table,
			const struct process_table *processes, const uint64_t *addrs, size_t count);
void code_versions_release(struct code_versions *v);
/*
 * Returns a row of the code table, or NO_CODE. *span becomes the interval around `time` with the
 * same answer. A forked process inherits the code that its parent had at the fork.
 */
uint32_t code_versions_find(const struct code_versions *v, process_id process, uint64_t addr,
			    uint64_t time, struct rebind_span *span);

#endif
