/* SPDX-License-Identifier: MIT */
/* Places of a vmlinux that the kernel changes when it starts, or while it runs. */
#ifndef PROF_SYMBOLIZE_KERNEL_PATCHED_CODE_H
#define PROF_SYMBOLIZE_KERNEL_PATCHED_CODE_H

#include <stdint.h>

#include "lib/base/vec.h"

struct patched_place {
	uint64_t rva;
	uint32_t size;
	const char *how;
};

struct patched_code {
	VEC(struct patched_place) places; /* ascending */
};

/* Empty if the file has none, or cannot be read. fd is borrowed. */
void patched_code_read(struct patched_code *p, int fd);
void patched_code_release(struct patched_code *p);
/*
 * Returns how the instruction at `rva` is changed, NULL if the file does not say. `callee`: name of
 * the function that it calls or jumps to; NULL: none.
 */
const char *patched_code_find(const struct patched_code *p, uint64_t rva, uint32_t size,
			      const char *callee);

#endif
