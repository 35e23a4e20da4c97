/* SPDX-License-Identifier: MIT */
/* prof view: implemented by a program of its own, prof-view. */
#include "cmd/command.h"
#include "cmd/run/companion_program.h"

const struct command command_view = {
	.name = "view",
	.summary = "show a profile in a browser, with source and assembly",
	.run = view_program_run,
};
