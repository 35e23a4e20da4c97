/* SPDX-License-Identifier: MIT */
/* Names the frames in anonymous memory after the code that lay there when they were sampled. */
#ifndef PROF_LIB_SESSION_CODE_FRAMES_H
#define PROF_LIB_SESSION_CODE_FRAMES_H

#include "lib/profile/profile.h"
#include "lib/session/code_table.h"

/* Once, when all samples and all code are there. Says of each process's anonymous memory whether
 * there was a map of it.
 */
void code_frames_name(struct profile *p, struct code_table *table,
		      const struct process_table *processes);

#endif
