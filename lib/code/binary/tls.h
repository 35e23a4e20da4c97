/* SPDX-License-Identifier: MIT */
/* Finds exported thread-local variables (ELF Handling For Thread-Local Storage). */
#pragma once

#include "lib/code/binary/binary.h"

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
