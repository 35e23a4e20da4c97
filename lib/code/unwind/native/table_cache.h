/* SPDX-License-Identifier: MIT */
/*
 * Results of compiling a file, as bytes: its table with the rules that it uses, and its runtime.
 * The bytes are untrusted. Their layout may change with every build of the program.
 */
#pragma once

#include "bpf/runtime_layout.h"
#include "lib/code/unwind/native/rule_store.h"
#include "lib/code/unwind/native/table_pool.h"
#include "lib/code/unwind/unwind_table.h"

/*
 * Writes a result from `offset` on. Its table's rows are in `rows`; the numbers in them are those
 * of `rules`, and are changed. Returns false unless everything was written.
 */
bool table_file_write(int fd, uint64_t offset, const struct table_result *result,
		      struct unwind_row *rows, const struct unwind_rules *rules);
/*
 * Reads table, layout and refusal from `offset` up to the end of the file. The numbers in its rows
 * are those of the store. Returns false, with *result unchanged, unless all bytes are valid.
 */
bool table_file_read(int fd, uint64_t offset, struct rule_store *store, struct rule_numbers *own,
		     table_sane_fn *is_sane, struct table_result *result);
/* Reads the layout only. Returns false if it is invalid; the rest is not checked. */
bool table_file_read_layout(int fd, uint64_t offset, table_sane_fn *is_sane,
			    struct runtime_layout *layout);

/*
 * Keeps results of compiling files for later recordings, until the machine's next start, in a
 * folder of the effective user (lib/base/identity.h). A file is known by its inode and by the
 * time of its last change, which its owner cannot set; not by its build id, which anybody can give
 * to their own file. These facts can only be trusted on file systems that stay mounted, or whose
 * mount the kernel identifies: files elsewhere, and those that have just changed, are not kept.
 * Used by several threads at once.
 */

struct table_cache;

/* Creates the folder if it is missing. Returns NULL if nothing can be kept there. */
struct table_cache *table_cache_new(const char *folder);
/* NULL is fine. */
void table_cache_free(struct table_cache *c);

/* A file, and the search for runtimes that examined its contents. */
struct table_origin {
	uint64_t device, inode, size, changed_s, changed_ns;
	uint64_t mount; /* 0: the file system stays mounted */
	uint64_t probes; /* number of a struct table_probe; 0: none */
};

/* Returns false if the file is not kept; then *origin is not valid. NULL for `c`: none is kept. */
bool table_cache_identify(const struct table_cache *c, int fd, const struct table_probe *probe,
			  struct table_origin *origin);
/* Finds the result of a file, like table_file_read(). */
bool table_cache_load(const struct table_cache *c, const struct table_origin *origin,
		      struct rule_store *store, struct rule_numbers *own, table_sane_fn *is_sane,
		      struct table_result *result);
/* Finds the layout only. */
bool table_cache_load_layout(const struct table_cache *c, const struct table_origin *origin,
			     table_sane_fn *is_sane, struct runtime_layout *layout);
/* A result on its way to the folder. */
struct table_write {
	struct table_origin origin;
	struct table_result
		result; /* a copy, with the number of its table's rows but without them */
};

/* Prepares a result to be kept, unless the file has changed since it was identified. */
bool table_cache_prepare(int fd, const struct table_origin *origin,
			 const struct table_result *result, struct table_write *write);
/*
 * Writes it, whole or not at all, with its rows, and releases it. The numbers in the rows are those
 * of `rules`, and are changed.
 */
void table_cache_store(struct table_cache *c, struct table_write *write, struct unwind_row *rows,
		       const struct unwind_rules *rules);
