/* SPDX-License-Identifier: MIT */
/* What a recording came to: the summary on stderr and the file of --stats. */
#ifndef PROF_CMD_TEXT_SUMMARY_H
#define PROF_CMD_TEXT_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cmd/text/coverage.h"
#include "lib/base/outfile.h"
#include "lib/format/format.h"
#include "lib/live/recorder.h"
#include "lib/profile/profile.h"
#include "symbolize/source_texts.h"

/* What there was to record, for people. */
enum outcome_subject {
	OUTCOME_OF_COMMAND,
	OUTCOME_OF_PROCESSES, /* that ran already */
	OUTCOME_OF_MACHINE,
	OUTCOME_OF_FILTERS, /* what they let pass of any of these */
};

struct outcome {
	const struct profile *profile;
	struct recorder_info info;
	const struct report *report; /* of the instruments */
	struct export_counts counts;
	enum recorder_unwind unwind;
	enum outcome_subject subject;
	bool verbose; /* with the detail of stacks and of names */
	const struct coverage *coverage; /* of `verbose` */
	bool leaves_addresses; /* --no-symbols: that nothing has a name is no surprise */
	bool symbolizing_was_cut; /* by a signal */
	pid_t left_running; /* the command goes on; 0: it has ended, or there was none */
	bool may_kill; /* --kill would have ended it */
	const struct sources_stats *sources; /* NULL: not asked for */
	const char *path; /* of the profile; "-": standard output */
	uint64_t file_bytes;
	uint64_t finish_ns; /* from the end of the command to the finished file */
	uint64_t recorder_cpu_ns;
	int exit_status;
};

/* Losses are warned of even where `quiet` silences the rest. */
void summary_print(const struct outcome *outcome, bool quiet);
/* Says that --fail-on-loss has made the recording fail; returns the exit status. */
int summary_fail_on_loss(const char *command);
/* One JSON object with the keys that prof-record(1) documents. The caller commits. */
void summary_write_stats(const struct outcome *outcome, struct outfile *out);

#endif
