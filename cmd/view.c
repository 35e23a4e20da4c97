/* SPDX-License-Identifier: MIT */
/* prof view and prof share: implemented by a program of their own, prof-view. */
#include "cmd/command.h"
#include "cmd/run/child_programs.h"

const struct command command_view = {
	.name = "view",
	.summary = "show a profile in a browser, with source and assembly",
	.run = view_program_run,
};

const struct command command_share = {
	.name = "share",
	.summary = "upload a sanitized profile to the Firefox Profiler's store",
	.run = view_program_run,
};
