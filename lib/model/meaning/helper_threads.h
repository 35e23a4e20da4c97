/* SPDX-License-Identifier: MIT */
/* Threads that idled during the whole recording, as the helpers of a server do. */
#pragma once

#include "lib/model/tables/profile.h"

/*
 * Marks the waits for conditions of threads that hardly did anything else as waits for work, unless
 * these threads wait for each other. Rewrites the stacks of samples.
 */
void helper_threads_mark(struct profile *p);
