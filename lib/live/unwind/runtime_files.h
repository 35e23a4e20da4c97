/* SPDX-License-Identifier: MIT */
/* Files that contain a runtime, found while their tables are compiled. */
#pragma once

#include "bpf/unwind.h"
#include "lib/live/unwind/spaces.h"
#include "lib/stream/process/mapping.h"
#include "lib/code/unwind/native/module_tables.h"
#include "lib/code/unwind/native/table_pool.h"

/* A process with a runtime. */
struct starting_process {
	uint32_t pid;
	uint32_t execs; /* since it was tracked */
	uint64_t bias; /* address - vaddr of the runtime's file */
};

/* Functions called for files with a runtime. */
struct runtime_hooks {
	struct table_probe probe;
	/*
	 * Called for a file with a runtime. Stores the number of its layout. Returns false if its
	 * frames cannot be followed.
	 */
	bool (*found)(void *ctx, const struct runtime_layout *layout, uint32_t *number);
	/*
	 * Prepares for a process with the file of that layout, and stores the number of the
	 * process's own. Returns 1 if its frames can be followed, 0 if it must be tried again, a
	 * negative errno if never.
	 */
	int (*start)(void *ctx, const struct starting_process *process, uint32_t *layout);
	/* Called once the processes with found runtimes are described: time for deferred work. */
	void (*described)(void *ctx);
	void (*refused)(void *ctx, const char *why);
	void *ctx;
};

/* A runtime found in a file, but not reported yet. */
struct new_runtime {
	uint32_t module_id;
	struct runtime_layout *layout; /* owned; NULL: the runtime is not supported */
};

struct runtime_files {
	struct runtime_hooks hooks; /* empty: files are not searched */
	bool has_found; /* any that can be followed */
	VEC(struct new_runtime) found;
	VEC(struct live_process *) waiting; /* processes with runtimes that have not started yet */
};

void runtime_files_release(struct runtime_files *f);
/* Moves the runtime found in a file out of the result. */
void runtime_files_take(struct runtime_files *f, const struct module_tables *modules,
			struct table_result *result);
/* Reports the runtime of a file that will be mapped. */
void runtime_files_expect(struct runtime_files *f, const struct runtime_layout *layout);
/*
 * Reports found runtimes, which may take longer than native stacks should have to wait, and notes
 * them in the files' rows. Returns false if there is nothing new to follow.
 */
bool runtime_files_add_started(struct runtime_files *f, struct module_tables *modules);
/* Completes runtime_files_add_started(), once all spaces with the runtimes are described. */
void runtime_files_end(const struct runtime_files *f);
/*
 * Drops mappings that the process no longer has, of a file with a runtime that it has mapped once
 * more since the last description: loaded anew, as Apache does with its modules. *stamp: the last
 * used for a mapping table.
 */
void runtime_files_drop_unmapped(const struct module_tables *modules,
				 const struct live_process *process, struct space *space,
				 uint64_t *stamp);
/* Adds the runtimes of a process that have started to its description. */
void runtime_files_describe(struct runtime_files *f, const struct module_tables *modules,
			    struct live_process *process, struct space *space, uint64_t now,
			    struct unwind_space *description);
/* Marks spaces dirty if one of their runtimes may have started by now. */
void runtime_files_retry(struct runtime_files *f, struct spaces *spaces, uint64_t now);
/* Returns the time of the next check of runtimes that may start soon; UINT64_MAX: none. */
uint64_t runtime_files_due(const struct runtime_files *f, const struct spaces *spaces);
void runtime_files_forget(struct runtime_files *f, const struct live_process *process);
