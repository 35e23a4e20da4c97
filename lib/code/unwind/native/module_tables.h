/* SPDX-License-Identifier: MIT */
/* Unwind tables of modules in shards, and the delayed release of the shards' pieces. */
#pragma once

#include "bpf/record.h"
#include "bpf/unwind.h"
#include "lib/code/unwind/native/table_pool.h"
#include "lib/code/unwind/unwind_table.h"
#include "lib/stream/process/mapping.h"

/* Delays the freeing of shard pieces until the walker can no longer read them. */

struct deferred_free_row {
	struct shard_piece piece;
	uint64_t round, time;
};

/* A zeroed struct is empty. */
struct deferred_free {
	uint64_t round; /* counted by the owner */
	VEC(struct deferred_free_row) rows; /* in order of `now` */
};

void deferred_free_release(struct deferred_free *g);
/* Adds a piece that no description refers to from `now` (ns) on. Ignores empty pieces. */
void deferred_free_add(struct deferred_free *g, const struct shard_piece *piece, uint64_t now);
/* Frees the pieces that are old enough. */
void deferred_free_collect(struct deferred_free *g, struct table_arena *arena, uint64_t now);

/*
 * The unwind tables of modules in the shards: one per file, regardless of how many processes map
 * it.
 */

enum table_state {
	TABLE_NONE, /* no CFI, or it is unreadable */
	TABLE_PENDING,
	TABLE_READY,
	TABLE_DROPPED, /* unmapped for a while; compiled again when mapped again */
};

/* A run of pages with index and rows in one shard. */
struct table_chunk {
	uint64_t start; /* vaddr */
	uint32_t page_count;
	struct shard_piece piece; /* the index, then the rows */
};

struct module_table {
	enum table_state state;
	uint16_t machine; /* e_machine; 0: unknown */
	VEC(struct rec_segment) segments;
	VEC(struct table_chunk) chunks; /* ascending */
	uint64_t entry;
	bool has_entry; /* the chunks describe it */
	uint64_t rows;
	uint64_t last_used_ns;
	uint32_t runtime; /* enum runtime_kind of the runtime in the file; 0: none */
	uint32_t layout; /* its number */
};

struct module_tables {
	struct table_arena *arena;
	uint32_t page_size; /* page size of the machine that mapped the files, bytes */
	VEC(struct module_table) rows; /* by module_id */
	uint64_t too_large; /* tables rejected because of the ceiling */
};

/* Borrows the arena. */
void module_tables_init(struct module_tables *t, struct table_arena *arena, uint32_t page_size);
void module_tables_release(struct module_tables *t);
void module_tables_add(struct module_tables *t, const struct rec_module *rec,
		       enum table_state state);
/* Copies the compiled table into the shards; all of it, or nothing if there is no room. */
void module_tables_store(struct module_tables *t, uint32_t module_id,
			 const struct unwind_table *table);
/*
 * The walker's view of a mapping: one entry, or several if the module's table has several chunks.
 * Appends to `out`.
 */
struct unwind_mappings {
	VEC(struct unwind_mapping) rows;
};
void module_tables_describe(const struct module_tables *t, const struct mapping *mapping,
			    struct unwind_mappings *out);
/* A runtime of a process: a file, and where it is mapped. */
struct mapped_runtime {
	uint32_t module;
	uint32_t kind; /* enum runtime_kind */
	uint32_t layout;
	uint64_t bias; /* address - bias = vaddr of the file */
	uint64_t file_offset; /* of the mapping */
};
/*
 * Finds the next mapping of a runtime's code, starting at *at, initially 0. A runtime may have
 * several. Returns false after the last.
 */
bool module_tables_next_runtime(const struct module_tables *t, const struct mapping_table *mappings,
				size_t *at, struct mapped_runtime *runtime);
/* Returns true for a 32-bit program, whose mapped files are all of a 32-bit machine. */
bool module_tables_are_32bit(const struct module_tables *t, const struct mapping_table *mappings);
/* Counts the tables that are ready, and the rows of all tables. */
void module_tables_count(const struct module_tables *t, uint64_t *tables, uint64_t *rows);
