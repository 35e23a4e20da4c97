/* SPDX-License-Identifier: MIT */
/* Meaning of waits by their stacks and threads: locks, disks, idle helpers. */
#pragma once

#include "lib/model/tables/profile.h"

/* Refines the reason of waits by the kernel functions on their stacks, once these have names. */

/* Distinguishes threads that wait for work from blocked threads. */

enum parked {
	PARKED_NOT, /* not parked, or unknown */
	PARKED_FOR_WORK,
	PARKED_FOR_TIME, /* a sleep implemented with a condition variable */
};

/*
 * Classifies a wait by the function that called the waiting primitive, such as a worker of Go,
 * libuv, V8, the Java virtual machine or a thread pool.
 */
enum parked parked_of_stack(const struct profile *p, stack_id id);

/*
 * Derives the category of labels from the kernel frames below them: the system call alone does not
 * identify the kind of file it reads, and a wait for a page of its argument's memory is a page
 * fault. Labels without such frames keep their category. Removes the scheduler's own functions, so
 * that a wait has the same stack whether it was sampled at its beginning or later. Names the
 * markers of slow waits by the labels. Rewrites frames, stacks, and the stacks of samples and
 * markers.
 */
void wait_frames_refine(struct profile *p);
/*
 * Returns the refined stack of a wait in a growing profile, given its frames, which must have
 * names, and its label.
 */
stack_id wait_frames_add(struct profile *p, stack_id stack, frame_id label);
/* True for functions with which programs wait for others: those of locks, PostgreSQL and MariaDB.
 */
bool wait_frames_only_waits(const char *name);
/* True for a frame in the C library; false for NO_STACK. */
bool wait_frame_is_of_c_library(const struct profile *p, stack_id id);
/* True for functions that wait for what another thread was told to do. */
bool wait_frame_is_for_result(const struct profile *p, stack_id id);
/* True below functions with which asyncio, GLib, libevent, libev and Qt handle an event. */
bool wait_is_in_loop(const struct profile *p, stack_id stack);
/* Returns the stack of a wait with a label that says that it is one for work. */
stack_id wait_frames_mark_parked(struct profile *p, stack_id id);

/* Threads that idled during the whole recording, as the helpers of a server do. */

/*
 * Marks the waits for conditions of threads that hardly did anything else as waits for work, unless
 * these threads wait for each other. Rewrites the stacks of samples.
 */
void helper_threads_mark(struct profile *p);
