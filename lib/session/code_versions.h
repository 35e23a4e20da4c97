/* SPDX-License-Identifier: MIT */
/*
 * Which code lay at an address of a process at a time: of the addresses that occur in a profile,
 * the entries of a code table that ever covered them.
 */
#ifndef PROF_LIB_SESSION_CODE_VERSIONS_H
#define PROF_LIB_SESSION_CODE_VERSIONS_H

#include "lib/profile/rebind_frames.h"
#include "lib/session/code_table.h"

#define NO_CODE UINT32_MAX

/* Something of a process that ends where its next one begins. */
struct code_range {
	uint32_t first, count;
};

struct code_version {
	uint32_t entry; /* row of the code table */
	uint32_t before; /* the next older one, NO_CODE: none */
};

/* The versions of one address in one process. */
struct code_slot {
	process_id process;
	uint32_t addr; /* position in addrs */
	uint32_t latest; /* version */
};

struct code_versions {
	const struct code_table *table;
	const struct process_table *processes;
	VEC(uint64_t) addrs; /* ascending, each once */
	VEC(struct code_version) rows;
	VEC(struct code_slot) slots;
	struct index by_place; /* slots */
	struct code_range *execs; /* by process: of table->execs */
	bool is_cut; /* there were too many versions */
};

/*
 * Borrows all of it; sorts the table's execs. `addrs` are those that will be asked for, in any
 * order.
 */
void code_versions_init(struct code_versions *v, struct code_table *table,
			const struct process_table *processes, const uint64_t *addrs, size_t count);
void code_versions_release(struct code_versions *v);
/*
 * The row of the code table, or NO_CODE. *span becomes the times, `time` among them, that have the
 * same answer. A forked process has what its parent had then.
 */
uint32_t code_versions_find(const struct code_versions *v, process_id process, uint64_t addr,
			    uint64_t time, struct rebind_span *span);

#endif
