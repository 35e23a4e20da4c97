/* SPDX-License-Identifier: MIT */
/* Libraries that nearly every program calls: which code called them tells more. */
#ifndef PROF_CMD_TEXT_COMMON_LIBRARY_H
#define PROF_CMD_TEXT_COMMON_LIBRARY_H

#include "lib/model/tables/profile.h"

/* Is the frame in libc, the vDSO, an allocator, or another of these libraries? */
bool is_of_common_library(const struct profile *p, const struct frame *frame);

#endif
