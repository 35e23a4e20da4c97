/* SPDX-License-Identifier: MIT */
/* Code that processes publish to debuggers, and the lines of generated code. */
#pragma once

#include "bpf/record.h"
#include "lib/base/base.h"
#include "lib/stream/process/mapping.h"

/* Collects the lines of a piece of generated code. */

#define CODE_LINES_MAX 8192
#define CODE_FILES_SIZE_MAX 32768

/* Only the counts need to be zeroed. */
struct code_lines {
	struct rec_code_line rows[CODE_LINES_MAX];
	size_t count;
	char files[CODE_FILES_SIZE_MAX];
	size_t files_size;
};

/*
 * Adds a line at an offset in the code, which never decreases; the name "\xff" repeats the previous
 * line's. Returns false if it is not a path, or there is no room.
 */
bool code_lines_add(struct code_lines *l, uint64_t offset, uint32_t line, const char *name);

/*
 * Reads the list of objects by which a program publishes its generated code to debuggers (gdb's
 * "JIT Compilation Interface"): __jit_debug_descriptor and the entries it leads to, in the memory
 * of the process. Nothing is written there, and the process is not stopped; its list may change at
 * any time, and may be forged.
 */

#define JIT_DESCRIPTOR_SIZE 24

/* Memory of a process. */
struct jit_memory {
	/* Returns false if it is unreadable, or not readable now: is_busy() then returns true. */
	bool (*read)(void *ctx, uint64_t addr, void *to, size_t size);
	bool (*is_busy)(void *ctx);
	/* Drops cached memory. */
	void (*renew)(void *ctx);
	void *ctx;
};

/* An entry whose object has been read. */
struct jit_entry {
	uint64_t addr; /* address of the entry … */
	uint64_t object, size; /* … and of its object */
	uint64_t hash; /* hash of the object's contents */
	uint64_t start, end; /* of its code; 0: none */
	uint64_t walk; /* number of the walk along the list that found it */
};

/* A list; zeroed initially, except for `descriptor`. */
struct jit_list {
	uint64_t descriptor; /* address */
	uint64_t seen; /* hash of its beginning when it was last read to its end */
	/* The entry at which reading was interrupted (0: it was not), and the one before. */
	uint64_t resume, resume_from;
	bool resumes_backwards;
	uint64_t walks; /* number of walks along the list, each from newer to older entries */
	uint32_t restarts; /* number of restarts since it last was read completely */
	bool is_cut; /* it has more entries than are read */
	VEC(struct jit_entry) entries;
	struct index by_addr;
	struct code_stats stats;
};

void jit_list_release(struct jit_list *list);
/* Copies a list for a forked process. `copy` must be empty. */
void jit_list_copy(struct jit_list *copy, const struct jit_list *list);
/*
 * Reads the entries added since the last call, at most about `budget` bytes of memory, but at least
 * one of them. Sends a piece without a name for each object, with its call frame information, then
 * its functions. Returns true if there is more, or the memory is busy.
 */
bool jit_list_read(struct jit_list *list, const struct jit_memory *memory, uint64_t budget,
		   code_piece_fn *fn, void *ctx);

/* A search for a list in the variables of a program without symbols. */
struct jit_search {
	uint64_t found; /* address of the descriptor; 0: none */
	bool is_ambiguous; /* several places look like one */
	uint64_t left; /* bytes left to search */
	uint32_t tries; /* places left to examine */
	uint64_t constants_start, constants_end; /* memory without entries: a file's constants */
};

/* Initially zeroed, except for the limits. */
#define JIT_SEARCH_BYTES ((uint64_t)16 << 20)
#define JIT_SEARCH_TRIES 4096
/* Searches [start, end) for data in the form of a descriptor that leads to an entry. */
void jit_list_search(struct jit_search *search, const struct jit_memory *memory, uint64_t start,
		     uint64_t end);
