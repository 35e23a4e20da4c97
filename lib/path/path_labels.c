/* SPDX-License-Identifier: MIT */
#include "lib/path/path_labels.h"

#include <stddef.h>

const char *const path_labels[PATH_KIND_COUNT] = {
	[PATH_RUNS] = "running",
	[PATH_QUEUED] = "[queued]",
	[PATH_WAKING] = "[wakes up]",
	[PATH_UNKNOWN] = "[unknown]",
};
