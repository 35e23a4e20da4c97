/* SPDX-License-Identifier: MIT */
/* Tells threads that wait for work from those that something holds up. */
#ifndef PROF_LIB_MODEL_MEANING_PARKED_H
#define PROF_LIB_MODEL_MEANING_PARKED_H

#include "lib/model/tables/profile.h"

enum parked {
	PARKED_NOT, /* or nobody knows */
	PARKED_FOR_WORK,
	PARKED_FOR_TIME, /* a sleep that is made of a condition variable */
};

/* Returns the name of a frame's function, "" without one. */
const char *parked_frame_name(const struct profile *p, const struct frame *frame);
/*
 * Returns the outermost of the C library's frames that a wait ends with: the function that the
 * program has called. Releases differ in those within it, which only debug information names. A
 * wait without such frames: its own. `id`: the innermost frame of the program.
 */
stack_id parked_call(const struct profile *p, stack_id id);
/*
 * True if none of those frames has a name although exported functions have: the one that was called
 * has jumped to another, as those of semaphores and joins do, and hardly a lock's. `id`: as above.
 */
bool parked_is_by_jump(const struct profile *p, stack_id id);
/*
 * Tells by the function that called the means of waiting: a worker of Go, libuv, V8, the Java
 * virtual machine, a pool of threads. `id`: as above.
 */
enum parked parked_of_stack(const struct profile *p, stack_id id);
/*
 * Likewise by names of threads, for those of Java: their functions have no names. Rewrites the
 * stacks of samples.
 */
void parked_mark_java(struct profile *p);

#endif
