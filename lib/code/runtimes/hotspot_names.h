/* SPDX-License-Identifier: MIT */
/* Names and lines of methods. */
#pragma once

#include "lib/code/runtimes/hotspot.h"

/*
 * Writes the name of a method as "package.Class.method"; without a class, the JVM's name of a stub.
 * Numbers of hidden classes are removed.
 */
void hotspot_set_name(struct strbuf *name, const char *holder, size_t holder_size,
		      const char *method, size_t method_size);

/* Compressed numbers of 1 to 5 bytes; later versions avoid zero bytes. */
struct hotspot_numbers {
	struct hotspot_memory *memory;
	uint64_t at; /* address of the next byte */
	bool has_no_zeros;
	bool is_bad; /* unreadable */
};

uint32_t hotspot_next_number(struct hotspot_numbers *n);

/* A line, starting at this bytecode. */
struct hotspot_line {
	uint32_t bci, line;
};

/* A method. A zeroed struct is empty. */
struct hotspot_method {
	struct strbuf name, file;
	struct strbuf parameters; /* "(int, String)"; empty if not wanted */
	uint32_t first_line; /* in the order of the class file */
	VEC(struct hotspot_line) lines; /* as in the class file */
};

/*
 * Names the JVM's own stubs in a blob as its inlined functions. Returns false, with `code` without
 * lines, if there are none.
 */
bool hotspot_read_stubs(struct hotspot_memory *memory, const struct hotspot_function_head *head,
			uint32_t units, struct managed_code *code);
