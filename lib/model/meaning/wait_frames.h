/* SPDX-License-Identifier: MIT */
/* Finds what waits are for by the kernel's functions, once they have names. */
#ifndef PROF_LIB_MODEL_MEANING_WAIT_FRAMES_H
#define PROF_LIB_MODEL_MEANING_WAIT_FRAMES_H

#include "lib/model/tables/profile.h"

/* Tells threads that wait for work from those that something holds up. */

enum parked {
	PARKED_NOT, /* or nobody knows */
	PARKED_FOR_WORK,
	PARKED_FOR_TIME, /* a sleep that is made of a condition variable */
};

/*
 * Tells by the function that called the means of waiting: a worker of Go, libuv, V8, the Java
 * virtual machine, a pool of threads. `id`: as above.
 */
enum parked parked_of_stack(const struct profile *p, stack_id id);

/*
 * Markers of long waits. They are made as slow calls; once the kernel's functions have names, these
 * tell which ones waited for a lock, the disk or a page of memory.
 */

/* Returns the schema of slow calls, NO_SCHEMA if the profile can have no more. */
schema_id slow_waits_schema(struct profile *p);

/*
 * Gives labels the category that the kernel's frames below them tell: a system call says nothing of
 * the file that it reads, and one that waits for a page of its argument's memory is a page fault.
 * Labels without such frames stay. Leaves out the scheduler's own functions, so that a wait has the
 * same stack whether it was sampled as it began or later. Names the markers of slow waits by the
 * labels. Rewrites frames, stacks, and the stacks of samples and markers.
 */
void wait_frames_refine(struct profile *p);
/*
 * Returns, in a profile that grows, the stack of a wait as refined: its frames, which have names,
 * and its label.
 */
stack_id wait_frames_add(struct profile *p, stack_id stack, frame_id label);

#endif
