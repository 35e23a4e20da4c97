/* SPDX-License-Identifier: MIT */
/* Libraries that nearly every program calls, so that their callers are more informative. */
#pragma once

#include "lib/model/tables/profile.h"

/* True if the frame is in libc, the vDSO, an allocator or another such library. */
bool is_of_common_library(const struct profile *p, const struct frame *frame);
