/* SPDX-License-Identifier: MIT */
/* Summary of a recording: outcome, reliability of stacks, and advice. */
#pragma once

#include "lib/base/outfile.h"
#include "lib/format/format.h"
#include "lib/live/recorder.h"
#include "lib/model/tables/profile.h"
#include "lib/recording/recording.h"

/* Reports how user stacks were found, and how they ended. */

/* Appends the nonzero shares as one line, without a newline; nothing without stacks. */
void unwinding_describe(enum recorder_unwind method, const struct profile_stats *stats,
			struct strbuf *out);

/* The result of a recording: the summary on stderr and the file of --stats. */

struct outcome {
	struct recording *recording; /* complete; --stats adds facts */
	struct export_counts counts;
	bool verbose; /* show details of stacks and names */
	bool leaves_addresses; /* set by --no-symbols: missing names are expected */
	bool symbolizing_was_cut; /* a signal or lack of memory cut symbolization short */
	bool lacked_memory; /* the latter */
	pid_t left_running; /* pid of a command still running; 0: ended, or no command */
	bool may_kill; /* --kill would have ended it */
	bool has_sources; /* sources were requested */
	const char *path; /* path of the profile; "-": standard output; NULL: not kept */
	bool kept_old; /* the file that it replaced is PATH.old now */
	uint64_t file_bytes;
	uint64_t finish_ns; /* time from the end of the command to the finished file */
	uint64_t drain_ns, write_ns; /* parts of finish_ns other than names and sources */
	uint64_t stall_ns; /* time limit for steps without progress */
	uint64_t recorder_cpu_ns;
	int exit_status;
	bool is_cut; /* the source's recorder did not end normally */
};

/* Prints the summary. Warns of losses even with `quiet`. */
void summary_print(const struct outcome *outcome, bool quiet);
/* Reports that --fail-on-loss made the recording fail. Returns the exit status. */
int summary_fail_on_loss(const char *command);
/* Writes one JSON object with the keys documented in prof-stats(5). The caller commits. */
void summary_write_stats(const struct outcome *outcome, struct outfile *out);

/* Advice for a recording with few samples or with code without names. */

/* Package remedies: names of installed programs, as distributions provide them. */

/* True if only a distribution's packages install files in the path's folder. */
bool debug_package_may_have(const char *path);
/*
 * Returns "install bash-dbgsym, or set DEBUGINFOD_URLS …" for a file that may be in a package; NULL
 * if there is no advice. The caller frees. `root`: folder with the distribution's files, "" for
 * this machine's; may be a container's, whose files are untrusted. has_servers: DEBUGINFOD_URLS is
 * set.
 */
char *debug_package_remedy(const char *root, const char *path, bool has_servers);
/*
 * Returns "sources of libc6 are not on this machine: apt source glibc" for a file that may be in a
 * Debian package; NULL if there is no advice. The caller frees.
 */
char *debug_package_sources(const char *root, const char *path);

/* Appends one line if there are too few samples. */
void advice_on_samples(const struct outcome *outcome, struct strbuf *out);
/*
 * Appends one line about the module with the most samples in unnamed code, and a remedy. Appends
 * nothing below a twentieth of the samples.
 */
void advice_on_names(const struct profile *p, struct strbuf *out);
