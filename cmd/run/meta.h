/* SPDX-License-Identifier: MIT */
/* Fills in what a profile says about itself: the machine, the command, the settings, the losses. */
#ifndef PROF_CMD_RUN_META_H
#define PROF_CMD_RUN_META_H

#include "cmd/options/live_options.h"
#include "lib/live/recorder.h"
#include "lib/live/process/targets.h"
#include "lib/profile/profile.h"

/* What a profile is about. */
struct meta_subject {
	const char *name; /* a program's, or what stands for several */
	const char *command_line; /* of what is recorded; where that is all, the filters */
	uint32_t pid; /* of the command, or of the process attached to; 0: there is none */
};

/* Before the session begins, which needs the start. */
void meta_fill(struct profile *p, const struct meta_subject *subject,
	       const struct live_options *live, const struct recorder_info *info,
	       const struct report *report);
/* What a path ends in. */
const char *meta_program_name(const char *path);
/* After the session's end: its end, and settings, stacks and losses for the info panel. */
void meta_finish(struct profile *p, const struct live_options *live,
		 const struct recorder_info *info, const struct report *report);

/* The words as one would type them into a shell; caller frees. */
char *meta_quote_command(char *const *argv);
/* The same with secrets masked. */
char *meta_command_line(char *const *argv);
/* Of processes that run already, one after the other; caller frees. */
char *meta_target_lines(const struct targets *targets);

#endif
