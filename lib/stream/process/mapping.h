/* SPDX-License-Identifier: MIT */
/*
 * The executable mappings of a process, or of the kernel: which module lies where. Forked processes
 * share one table until either changes it.
 */
#pragma once

#include "bpf/record.h"
#include "lib/base/base.h"

/* Reads the path of a control group, see cgroups(7). */

/*
 * Number of hexadecimal digits in the ids of containers, by which engines name their control
 * groups.
 */
#define CONTAINER_ID_SIZE 64

/* Finds the innermost container's id in the path (size bytes); NULL if there is none. */
const char *cgroup_container_id(const char *path, size_t size);
/* Returns the last component of the path, which need not end in a slash or be NUL-terminated. */
const char *cgroup_leaf(const char *path, size_t *size);

/* mapping.module of anonymous memory, resolved per process. */
#define MAPPING_ANON (UINT32_MAX - 1)

struct mapping {
	uint64_t start, end; /* [start, end) */
	uint64_t file_offset; /* file offset of `start` */
	uint32_t module; /* the owner's module number, or MAPPING_ANON */
};

struct mapping_table {
	VEC(struct mapping) rows; /* in ascending order, without overlaps */
	/*
	 * Tables with the same stamp resolve every address alike. Each stamp is used once; empty
	 * tables have stamp 0.
	 */
	uint64_t stamp;
	uint32_t holders; /* number of holders; a shared table is immutable */
	uint32_t waiting; /* number of holders that are waiting records */
	bool has_anon;
};

struct mapping_table *mapping_table_new(void);
/*
 * Takes a reference for a forked process, which starts with its parent's mappings, or for a later
 * lookup of the current mappings. Dropping the last reference frees the table.
 */
struct mapping_table *mapping_table_hold(struct mapping_table *t);
void mapping_table_drop(struct mapping_table *t);
/*
 * Hold and drop a table for a waiting record. While records wait, a process that maps more gets a
 * new table and the old one is kept; both functions return the change in bytes kept alive for
 * waiting records.
 */
size_t mapping_table_await(struct mapping_table *t);
size_t mapping_table_settle(struct mapping_table *t);

/*
 * Replaces overlapped parts of other mappings; adjacent mappings that continue each other become
 * one row. If the table has other holders, replaces *table by a copy. Returns false if nothing
 * changed (the mapping existed already, or is empty), and the stamp was not used.
 */
bool mapping_table_insert(struct mapping_table **table, const struct mapping *mapping,
			  uint64_t stamp);
/* Copies a table that must not be shared. */
struct mapping_table *mapping_table_copy(const struct mapping_table *t, uint64_t stamp);
/* Finds the mapping at the address; NULL if unknown. Valid until the next insert. */
const struct mapping *mapping_table_find(const struct mapping_table *t, uint64_t addr);

/* A piece of generated code, as found by the readers of perf maps, jitdumps and lists. */

struct code_piece {
	uint64_t since; /* CLOCK_MONOTONIC ns; meaningless unless is_exact */
	bool is_exact;
	uint64_t start, size;
	const char *name; /* not terminated */
	size_t name_size;
	const struct rec_code_line *lines; /* by offset; `file` is an offset in `files` */
	size_t line_count;
	const char *files; /* names, each terminated */
	size_t files_size;
	uint64_t moved_from; /* its address until now; 0: new code */
	const struct rec_code_dump *dump; /* location of its bytes; NULL: none */
	const uint8_t *eh_frame; /* .eh_frame or .debug_frame of the code; NULL: none */
	size_t eh_frame_size;
	/* Address for which it is relocated; 0: the next multiple of 8 after the code. */
	uint64_t eh_frame_addr;
	bool is_debug_frame;
	const uint8_t
		*code; /* the code itself, whose frames may be found without CFI; NULL: unread */
	bool is_erlang; /* the code uses an Erlang process's stack */
	uint64_t outermost, outermost_size; /* code in it in which stacks end; size 0: none */
};

/* Everything that *piece points to is valid during the call only. */
typedef void code_piece_fn(void *ctx, const struct code_piece *piece);

/* Longer names are truncated. */
#define CODE_NAME_MAX 4096

/* Totals of a reader. */
struct code_stats {
	uint64_t pieces;
	uint64_t malformed; /* lines, or records */
	uint64_t bytes; /* read, for budgets */
};
