/* SPDX-License-Identifier: MIT */
/* Fills in what a profile says about itself: the machine, the command, the settings, the losses. */
#ifndef PROF_CMD_META_H
#define PROF_CMD_META_H

#include "cmd/live_options.h"
#include "lib/live/recorder.h"
#include "lib/profile/profile.h"

/* Before the session begins, which needs the start. argv: the recorded command. */
void meta_fill(struct profile *p, char *const *argv, const struct live_options *live,
	       const struct recorder_info *info);
/* After the session's end: its end, and settings, stacks and losses for the info panel. */
void meta_finish(struct profile *p, const struct live_options *live,
		 const struct recorder_info *info);

/* The words as one would type them into a shell; caller frees. */
char *meta_quote_command(char *const *argv);

#endif
