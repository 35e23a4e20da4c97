/* SPDX-License-Identifier: MIT */
/* Finds what waits are for by the kernel's functions, once they have names. */
#ifndef PROF_LIB_MODEL_MEANING_WAIT_FRAMES_H
#define PROF_LIB_MODEL_MEANING_WAIT_FRAMES_H

#include "lib/model/tables/profile.h"

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
