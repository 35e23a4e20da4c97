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
