/* SPDX-License-Identifier: MIT */
/* Runs a recording from start to finished file. The only file that depends on every room. */
#pragma once

#include "cmd/options/pipeline_options.h"
#include "cmd/text/record_summary.h"
#include "lib/recording/meta.h"

/* Records, writes and reports. Returns the exit status; failures have been reported. */
int pipeline_run(const struct pipeline_options *options);

/* Describes the subject of a recording: a command, running processes, the machine. */

struct subject {
	struct meta_subject meta; /* strings borrowed from the options and from this struct */
	char *name, *command_line; /* owned; NULL: none */
};

/* Describes the subject. `child`: pid of the command, used if the options have one. */
void subject_init(struct subject *s, const struct pipeline_options *options, pid_t child);
void subject_release(struct subject *s);

static inline void subject_release_cleanup(struct subject *s)
{
	subject_release(s);
}

/* Returns the subject as one word for file names: a program's name, "attach" or "system". */
const char *subject_word(const struct pipeline_options *options);
/* Returns the subject for the progress line; the caller frees it. */
char *subject_heading(const struct pipeline_options *options, const struct profile *profile);
enum recording_subject subject_kind(const struct pipeline_options *options);
/* Returns 0, or -ENODATA or -ESRCH with err if there is nothing to write. */
int subject_check_found(const struct pipeline_options *options, const struct profile_stats *stats,
			bool has_threads, struct error *err);
