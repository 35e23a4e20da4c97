/* SPDX-License-Identifier: MIT */
/* Finds a variable of a program or library, and the segments with all its variables. */
#pragma once

#include "lib/base/base.h"
#include "lib/code/binary/binary.h"

/* A loaded segment. */
struct variable_segment {
	uint64_t file_offset, file_size, vaddr, size;
	bool executable, writable;
};

struct variables {
	VEC(struct variable_segment) segments; /* at most VARIABLE_SEGMENTS_MAX */
	/* Constants in a writable segment, which the dynamic linker protects; equal: none. */
	uint64_t constants_start, constants_end;
	uint64_t vaddr; /* of the variable; 0: not found, or no name given */
};

#define VARIABLE_SEGMENTS_MAX 64

/*
 * Reads the segments, and searches .dynsym and .symtab for a variable of that name and size. `v`
 * must be empty. Files other than 64-bit ELF files silently yield no segments. `fd` is borrowed.
 */
void variables_read(struct variables *v, int fd, const char *name, uint64_t size);
void variables_release(struct variables *v);
/*
 * Computes the difference between addresses in a process and in the file, from a mapping of the
 * file's code at `file_offset`. Returns false if no code of the file is there.
 */
bool variables_find_bias(const struct variables *v, uint64_t start, uint64_t file_offset,
			 uint64_t *bias);

/* Finds exported thread-local variables (ELF Handling For Thread-Local Storage). */

/* The word of a library from which its code takes the place of a variable. */
enum binary_tls_slot {
	TLS_SLOT_NONE, /* a program: `offset` is from the thread pointer */
	TLS_SLOT_MODULE, /* number of the library; `offset` is from its variables */
	TLS_SLOT_FIXED, /* offset from the thread pointer */
	/* After a function's address: offset from the thread pointer, or address of both. */
	TLS_SLOT_DESCRIPTOR,
	TLS_SLOT_COUNT,
};

struct binary_tls {
	enum binary_tls_slot kind;
	uint64_t slot; /* vaddr of the word */
	int64_t offset;
};

/*
 * Stores how the file's own code finds the variable. Returns 0; -ENOENT if it exports none of that
 * name; -ENOTSUP if its code does not use it.
 */
int binary_find_tls(const struct binary *b, const char *name, struct binary_tls *tls);
