/* SPDX-License-Identifier: MIT */
/* prof share: implemented by a program of its own, prof-view. */
#include "cmd/command.h"
#include "cmd/run/companion_program.h"

const struct command command_share = {
	.name = "share",
	.summary = "upload a sanitized profile to the Firefox Profiler's store",
	.run = view_program_run,
};
