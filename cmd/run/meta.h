/* SPDX-License-Identifier: MIT */
/* Describes a recording in its profile: the machine, the command, the settings, the losses. */
#ifndef PROF_CMD_RUN_META_H
#define PROF_CMD_RUN_META_H

#include <stdbool.h>

#include "cmd/options/live_options.h"
#include "lib/live/recorder.h"
#include "lib/live/process/targets.h"
#include "lib/profile/profile.h"

/* The subject of a profile. */
struct meta_subject {
	const char *name; /* name of the program, or of several together */
	const char *command_line; /* command line of the recorded program, or the filters */
	uint32_t pid; /* pid of the command or of the process attached to; 0: none */
	bool is_machine; /* all processes, or a selection of all */
};

/* Call before the session begins: it needs the start time. */
void meta_fill(struct profile *p, const struct meta_subject *subject,
	       const struct live_options *live, const struct recorder_info *info,
	       const struct report *report);
/* Returns the last component of a path. */
const char *meta_program_name(const char *path);
/*
 * Call after the session. Stores its end, tells settings, stacks and losses, and puts them and what
 * the recorder told into the info panel.
 */
void meta_finish(struct profile *p, enum recorder_unwind unwind, const struct recorder_info *info,
		 struct facts *facts);

/* Quotes the words for a shell; the caller frees. */
char *meta_quote_command(char *const *argv);
/* Quotes in the same way, with secrets masked. */
char *meta_command_line(char *const *argv);
/* Joins the command lines of running processes; the caller frees. */
char *meta_target_lines(const struct targets *targets);

#endif
