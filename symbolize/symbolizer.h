/* SPDX-License-Identifier: MIT */
/*
 * A source of names for addresses of a module: ELF symbols, DWARF, the kernel … One of the three
 * seams; each source is one set of ops. Symbolizers have no access to frames and stacks.
 */
#pragma once

#include "lib/model/tables/modules.h"

struct location {
	const char *func; /* name as in the file, not demangled; NULL: unknown */
	const char *file; /* NULL: unknown */
	uint32_t line; /* 0: unknown */
	uint32_t start_line; /* line of the function's declaration; 0: unknown */
	uint32_t discriminator; /* distinguishes blocks of the line; 0: none, or not wanted */
};

/*
 * The facts about one address. Symbolizers are queried in turn and fill in unknown members. Strings
 * and chains belong to the symbolizer and live until it is freed.
 */
struct answer {
	const char *func; /* symbol that covers the address; NULL: unknown */
	uint64_t func_start, func_size; /* RVA and size; size 0: unknown */
	bool is_synthetic; /* func is a synthetic name, fun_<hex> */
	bool is_stub; /* the linker generated the code, which leads to func */
	/* The end of func is only known as the next symbol's start, so func_size is too large. */
	bool is_reach_guessed;
	bool is_beyond_end; /* the instructions of func end before the address */
	bool has_source_name; /* the outermost function of the chain is better named than func */
	struct location *chain; /* outermost function first; NULL: unknown */
	size_t depth;
};

struct symbolizer;
struct kernel_table;
struct debug_search;
struct module_files;

/*
 * The input of a symbolizer for one module. Borrowed for the symbolizer's life. Kernel addresses
 * outside of all modules have no module here either; their RVA is the address.
 */
struct symbolizer_input {
	const struct module *module; /* NULL only for kernel addresses */
	const char *path; /* path of the module, as its process saw it */
	int fd; /* open file, or -1; may be mapped or read by pread(), but not closed */
	int root; /* open root folder of the process, if it differs from prof's own; otherwise 0 */
	/* Settings for debug files; NULL: only the system's folder is searched. */
	const struct debug_search *search;
	struct module_files *files; /* files found with the members above; NULL: each symbolizer
				       searches on its own */
	const struct kernel_table *kernel_symbols; /* NULL: not available */
	bool wants_discriminators; /* locations with equal lines may differ in these */
	bool has_symbols; /* an earlier symbolizer has the symbol table */
	const uint64_t *rvas; /* addresses of later lookups, ascending; NULL: unknown */
	size_t rva_count;
};

struct symbolizer_ops {
	const char *name;
	bool reads_symbols; /* reads the file's symbols, so later symbolizers need not name
			       functions */
	/*
	 * Returns 0 and sets *out; -ENOENT if the symbolizer has nothing for this module, or
	 * another negative errno.
	 */
	int (*open)(struct symbolizer **out, const struct symbolizer_input *input,
		    struct error *err);
	/* Fills in answers[i] for rvas[i], which ascend. */
	void (*lookup)(struct symbolizer *s, const uint64_t *rvas, size_t count,
		       struct answer *answers);
	void (*free)(struct symbolizer *s);
};

struct symbolizer {
	const struct symbolizer_ops *ops;
};

extern const struct symbolizer_ops symbolizer_elf, symbolizer_dwarf, symbolizer_go, symbolizer_fde,
	symbolizer_kernel;
