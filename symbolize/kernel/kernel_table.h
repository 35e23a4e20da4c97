/* SPDX-License-Identifier: MIT */
/*
 * Symbols of the kernel by address, for all kernel modules of a profile: from single answers of the
 * kernel, or from /proc/kallsyms.
 */
#pragma once

#include "lib/base/base.h"

/* Larger than any function: an address farther from its symbol belongs to code without a symbol. */
#define KERNEL_FUNC_SIZE_MAX (1u << 20)

struct kernel_table_row {
	uint64_t start;
	uint32_t name; /* offset in the table's text: NUL-terminated, followed by the module name,
			  if any */
	uint32_t size : 24; /* below KERNEL_FUNC_SIZE_MAX; 0: unknown */
	uint32_t is_code : 1; /* data has no name, and only marks the end of a function */
	uint32_t has_module : 1;
};

struct kernel_table {
	struct strbuf text;
	VEC(struct kernel_table_row) rows; /* once sealed: sorted by address, without duplicates */
	/*
	 * A complete list from another time, not lookups of recorded addresses: modules and
	 * generated code may have been elsewhere then.
	 */
	bool is_list;
};

struct kernel_symbol {
	uint64_t start, size; /* size 0: unknown */
	const char *name; /* owned by the table */
	const char *module; /* "[ext4]"; NULL: kernel image */
};

struct kernel_table *kernel_table_new(void);
/* Accepts NULL. */
void kernel_table_free(struct kernel_table *t);
/* Copies the strings; `name` need not be terminated, `module` is NULL for the image. */
void kernel_table_add(struct kernel_table *t, uint64_t start, uint64_t size, const char *name,
		      size_t name_size, const char *module);
/*
 * Sorts the rows and keeps the best known name of each address. Functions of unknown size extend to
 * the next symbol. Call after the last addition and before the first search.
 */
void kernel_table_seal(struct kernel_table *t);
/* Finds the code symbol that covers the address; false if there is none near enough. */
bool kernel_table_find(const struct kernel_table *t, uint64_t addr, struct kernel_symbol *symbol);

/* The kernel's own list of all its symbols, as text. */

/*
 * Reads all of /proc/kallsyms, or a copy of it, from the start of fd (borrowed). Returns -ENOENT if
 * the kernel hides its addresses, which are then all 0.
 */
int kallsyms_read(struct kernel_table **out, int fd, struct error *err);
