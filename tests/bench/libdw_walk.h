/* SPDX-License-Identifier: MIT */
/* Stacks by libdw, as a reference for the walker. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/code/unwind/user_walk.h"

/* The files of one address space. */
struct libdw_space;

struct libdw_path {
	uint64_t *addrs; /* callers of the top frame, innermost first */
	bool *is_pc; /* by frame: it was interrupted, or is the return from a handler */
	uint32_t capacity, depth;
	bool is_end; /* libdw knows that the last frame is the outermost */
	bool is_cut; /* there were more frames than fit */
	bool left_copy; /* libdw wanted memory above the copied stack */
	bool below_copy; /* libdw wanted memory below it, perhaps the red zone */
	const char *error; /* reason for the end; valid until the next walk */
};

struct libdw_space *libdw_space_new(void);
void libdw_space_free(struct libdw_space *s);
/* Adds a file mapped at vaddr + bias; fd is borrowed. Skips files that libdw refuses. */
void libdw_space_add(struct libdw_space *s, const char *name, int fd, uint64_t bias);
/* Ends adding. Returns false if libdw finds nothing to walk. */
bool libdw_space_finish(struct libdw_space *s, bool is_arm64);
void libdw_walk(struct libdw_space *s, const struct walk_regs *regs, const uint8_t *stack,
		size_t stack_size, struct libdw_path *path);
/* Returns the function there, or "?". Valid as long as the space. */
const char *libdw_function(struct libdw_space *s, uint64_t addr);
