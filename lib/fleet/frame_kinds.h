/* SPDX-License-Identifier: MIT */
/* Values of the column "kind" of stacks. */
#ifndef PROF_LIB_FLEET_FRAME_KINDS_H
#define PROF_LIB_FLEET_FRAME_KINDS_H

#include <stddef.h>

#include "lib/model/tables/frames.h"

static const char *const fleet_kind_names[] = {
	[PROFILE_FRAME_NATIVE] = "native", [PROFILE_FRAME_KERNEL] = "kernel",
	[PROFILE_FRAME_GUESS] = "guess",   [PROFILE_FRAME_SIGNAL] = "signal",
	[PROFILE_FRAME_LABEL] = "wait",	   [PROFILE_FRAME_MANAGED] = "managed",
};
#define FLEET_KIND_COUNT (sizeof(fleet_kind_names) / sizeof(*fleet_kind_names))
/* Stands for native, in JavaScript. */
#define FLEET_KIND_SCRIPT "script"

#endif
