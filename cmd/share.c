/* SPDX-License-Identifier: MIT */
/* prof share is in a program of its own. */
#include "cmd/command.h"
#include "cmd/run/companion_program.h"

const struct command command_share = {
	.name = "share",
	.summary = "upload a sanitized profile to the Firefox Profiler's store",
	.run = view_program_run,
};
