/* SPDX-License-Identifier: MIT */
/* Stacks as libdw sees them: what the walker is compared with. */
#ifndef PROF_TESTS_BENCH_LIBDW_WALK_H
#define PROF_TESTS_BENCH_LIBDW_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/unwind/walk.h"

/* The files of one address space. */
struct libdw_space;

struct libdw_path {
	uint64_t *addrs; /* callers of the top frame, innermost first */
	bool *is_pc; /* of each: it was interrupted, or is the return from a handler */
	uint32_t capacity, depth;
	bool is_end; /* the last frame is the outermost one: libdw says so */
	bool is_cut; /* there were more frames than fit */
	bool left_copy; /* libdw wanted memory above the copied stack */
	bool below_copy; /* libdw wanted memory below it, perhaps the red zone */
	const char *error; /* why it went no further; valid until the next walk */
};

struct libdw_space *libdw_space_new(void);
void libdw_space_free(struct libdw_space *s);
/* A file mapped at vaddr + bias; fd is borrowed. A file that libdw refuses is passed over. */
void libdw_space_add(struct libdw_space *s, const char *name, int fd, uint64_t bias);
/* Nothing can be added any more. False: libdw finds nothing here that it could walk. */
bool libdw_space_finish(struct libdw_space *s, bool is_arm64);
void libdw_walk(struct libdw_space *s, const struct walk_regs *regs, const uint8_t *stack,
		size_t stack_size, struct libdw_path *path);
/* The function there, or "?". Valid as long as the space. */
const char *libdw_function(struct libdw_space *s, uint64_t addr);

#endif
