/* SPDX-License-Identifier: MIT */
/*
 * Objects in the data of an ELF file, such as tables that a runtime provides for debuggers.
 * Untrusted, as in binary.h; relocatable files have none.
 */
#pragma once

#include "lib/code/binary/binary.h"

/*
 * Libraries that an ELF file requests from the dynamic loader (DT_NEEDED). Untrusted, as in
 * binary.h.
 */

#define BINARY_NEEDED_MAX 64

struct binary_needed {
	const char *names[BINARY_NEEDED_MAX]; /* names of libraries, owned by the binary like
						 run_path */
	size_t count;
	const char *run_path; /* folders to search first, separated by colons; NULL: none */
};

void binary_find_needed(const struct binary *b, struct binary_needed *needed);
/* Returns true for a library with a DT_SONAME. */
bool binary_has_soname(const struct binary *b);

struct binary_object {
	const char *name;
	uint64_t vaddr, size; /* values of the symbol */
	bool is_there;
};

/*
 * Looks up objects and functions that the file defines, in .dynsym, then in .symtab. Rows already
 * found stay unchanged.
 */
void binary_find_objects(const struct binary *b, struct binary_object *wanted, size_t count);
/* Does the same in .dynsym alone, which is far smaller in large files. */
void binary_find_exported(const struct binary *b, struct binary_object *wanted, size_t count);
/*
 * Looks up the symbol that identifies a runtime. A library with a DT_SONAME exports it; .symtab is
 * searched only in programs and libraries without one.
 */
void binary_find_mark(const struct binary *b, struct binary_object *mark);
/* Finds a loaded section, even one without bytes in the file. */
bool binary_section_extent(const struct binary *b, const char *name, uint64_t *vaddr,
			   uint64_t *size);
/*
 * Reads the memory at these addresses as if the file were loaded at its own vaddrs, with pointers
 * into the file relocated. Returns false if a part is not in the file.
 */
bool binary_read_loaded(const struct binary *b, uint64_t vaddr, void *out, size_t size);
/* binary_read_loaded() for bytes without pointers: far faster in files with many relocations. */
bool binary_read_text(const struct binary *b, uint64_t vaddr, void *out, size_t size);
