/* SPDX-License-Identifier: MIT */
/* Texts in markers of the critical path, by which readers of a profile know its parts. */
#pragma once

#include "lib/path/path_walk.h"

/* By enum path_kind. Others are the labels of waits, as of stacks: "[futex]". */
extern const char *const path_labels[PATH_KIND_COUNT];

/* The cause of a part that is inferred. */
#define PATH_INFERRED "inferred: held a lock"
