/* SPDX-License-Identifier: MIT */
/* Labels in markers of the critical path, by which readers recognize its parts. */
#pragma once

#include "lib/path/path_walk.h"

/* By enum path_kind. Waits have the labels of wait frames instead: "[futex]". */
extern const char *const path_labels[PATH_KIND_COUNT];

/* Cause of an inferred part. */
#define PATH_INFERRED "inferred: held a lock"
