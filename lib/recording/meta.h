/* SPDX-License-Identifier: MIT */
/* Describes a recording in its profile: the machine, the command, the settings, the losses. */
#pragma once

#include "lib/live/recorder.h"
#include "lib/live/process/targets.h"
#include "lib/model/tables/profile.h"

/* Name of the subject if it is the whole machine. */
#define META_ALL_PROCESSES "all processes"

/* The subject of a profile. */
struct meta_subject {
	const char *name; /* name of the program, or a common name of several */
	const char *command_line; /* command line of the recorded program, or the filters */
	uint32_t pid; /* pid of the command or of the process attached to; 0: none */
	bool is_machine; /* all processes of the machine, or a selection of them */
};

/*
 * Call before the session begins, which needs the start time. `limit_ns`: the limit set by -d; 0:
 * none.
 */
void meta_fill(struct profile *p, const struct meta_subject *subject, uint64_t limit_ns,
	       enum recorder_unwind unwind, const struct recorder_info *info,
	       const struct report *report);
/* Returns the last component of a path. */
const char *meta_program_name(const char *path);
/* Quotes the words for a shell; the caller frees. */
char *meta_quote_command(char *const *argv);
/* Quotes the words in the same way, with secrets masked. */
char *meta_command_line(char *const *argv);
/* Joins the command lines of running processes; the caller frees. */
char *meta_target_lines(const struct targets *targets);
