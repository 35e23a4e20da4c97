/* SPDX-License-Identifier: MIT */
/* Collects the lines of a piece of generated code. */
#pragma once

#include "bpf/record.h"
#include "lib/base/base.h"

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
