/* SPDX-License-Identifier: MIT */
/* Files that contain a runtime, found while their tables are compiled. */
#ifndef PROF_LIB_LIVE_UNWIND_RUNTIME_FILES_H
#define PROF_LIB_LIVE_UNWIND_RUNTIME_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/unwind.h"
#include "lib/process/mapping.h"
#include "lib/unwind/native/module_tables.h"
#include "lib/unwind/native/table_pool.h"

/* Functions that are told of files with a runtime. */
struct runtime_hooks {
	table_probe_fn *probe;
	/* A file has one. Stores the number of its layout. False: its frames cannot be followed. */
	bool (*found)(void *ctx, const struct runtime_layout *layout, uint32_t *number);
	void (*refused)(void *ctx, const char *why);
	void *ctx;
};

struct runtime_files {
	struct runtime_hooks hooks; /* empty: files are not searched */
	bool has_found; /* any that can be followed */
};

/* Takes what the search has found in a file, and notes it in the file's row. */
void runtime_files_take(struct runtime_files *f, struct module_tables *modules,
			const struct table_result *result);
/* Adds the runtime of a process to its description. */
void runtime_files_describe(const struct runtime_files *f, const struct module_tables *modules,
			    const struct mapping_table *mappings, struct unwind_space *space);

#endif
