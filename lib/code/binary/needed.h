/* SPDX-License-Identifier: MIT */
/* Libraries that an ELF file asks the dynamic loader for. Untrusted, as in binary.h. */
#ifndef PROF_LIB_CODE_BINARY_NEEDED_H
#define PROF_LIB_CODE_BINARY_NEEDED_H

#include "lib/code/binary/binary.h"

#define BINARY_NEEDED_MAX 64

struct binary_needed {
	const char *names[BINARY_NEEDED_MAX]; /* of libraries; the binary's, as run_path is */
	size_t count;
	const char *run_path; /* folders to search first, between colons; NULL: none */
};

void binary_find_needed(const struct binary *b, struct binary_needed *needed);
/* Is it a library with a name (DT_SONAME) by which others ask for it? */
bool binary_has_soname(const struct binary *b);

#endif
