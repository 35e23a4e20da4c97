/* SPDX-License-Identifier: MIT */
/*
 * Stacks of the rows of CPUs: those of the threads, with the name of the program as the outermost
 * frame, so that the flame graph of a CPU separates programs. They follow those of the profile.
 */
#ifndef PROF_LIB_FORMAT_FIREFOX_WRITE_WRITE_SAMPLES_H
#define PROF_LIB_FORMAT_FIREFOX_WRITE_WRITE_SAMPLES_H

#include "lib/base/index.h"
#include "lib/model/tables/profile.h"

struct cpu_stack {
	uint32_t frame, parent; /* positions in the file; NO_STACK: a root */
	/* Made of these. */
	string_id program;
	stack_id stack; /* NO_STACK: the root of the program */
};

struct cpu_stacks {
	VEC(struct cpu_stack) rows;
	struct index index;
	VEC(string_id) programs; /* of the frames after the profile's */
};

/* Returns the position of the stack in the file, added if new. */
uint32_t cpu_stacks_intern(struct cpu_stacks *c, const struct profile *p, string_id program,
			   stack_id stack);
void cpu_stacks_release(struct cpu_stacks *c);

#endif
