/* SPDX-License-Identifier: MIT */
/*
 * Stacks of the rows of CPUs: threads' stacks with the name of the program as outermost frame, so
 * that a CPU's flame graph separates programs. They follow the profile's stacks.
 */
#ifndef PROF_LIB_FORMAT_FIREFOX_WRITE_WRITE_SAMPLES_H
#define PROF_LIB_FORMAT_FIREFOX_WRITE_WRITE_SAMPLES_H

#include "lib/base/index.h"
#include "lib/model/tables/profile.h"

struct cpu_stack {
	uint32_t frame, parent; /* positions in the file; NO_STACK: a root */
	/* The source of the stack. */
	string_id program;
	stack_id stack; /* NO_STACK: only the program's frame */
};

struct cpu_stacks {
	VEC(struct cpu_stack) rows;
	struct index index;
	VEC(string_id) programs; /* of the frames that follow the profile's */
};

/* Returns the position of the stack in the file, added if new. */
uint32_t cpu_stacks_intern(struct cpu_stacks *c, const struct profile *p, string_id program,
			   stack_id stack);
void cpu_stacks_release(struct cpu_stacks *c);

#endif
