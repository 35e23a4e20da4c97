/* SPDX-License-Identifier: MIT */
/* prof share: in a program of its own. */
#include "cmd/command.h"
#include "cmd/run/companion.h"

const struct command command_share = {
	.name = "share",
	.summary = "send a sanitized profile to the front-end's store, when asked to",
	.run = companion_run,
};
