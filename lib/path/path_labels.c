/* SPDX-License-Identifier: MIT */
#include "lib/path/path_labels.h"

#include <stddef.h>

const char *const path_labels[PATH_KIND_COUNT] = {
	[PATH_RUNS] = "running",
	[PATH_QUEUED] = "[queued]",
	[PATH_WAKING] = "[wakes up]",
	[PATH_UNKNOWN] = "[unknown]",
};

const char *const path_sum_names[PATH_SUM_KIND_COUNT] = {
	[PATH_SUM_RUNNING] = "running",
	[PATH_SUM_REPLAY] = "replay",
	[PATH_SUM_OWN_QUEUE] = "queued behind itself",
	[PATH_SUM_ALONE] = "alone",
	[PATH_SUM_LEFT_OUT] = "left out",
};
