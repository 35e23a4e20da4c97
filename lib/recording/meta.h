/* SPDX-License-Identifier: MIT */
/* Describes a recording in its profile: the machine, the command, the settings, the losses. */
#pragma once

#include "lib/live/recorder.h"
#include "lib/live/process/targets.h"
#include "lib/model/tables/profile.h"
#include "bpf/record.h"

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

/* Commands that only launch others: "podman run IMAGE PROGRAM". */

/*
 * If the recorded command launches containers, names the profile after the program in the
 * container: the process with more than half of all CPU time, or else the container's first one.
 * Does nothing if the container used less than half. Call when all samples have their CPU time.
 */
void launched_name_profile(struct profile *p);

/* Losses of a recording for the summary, the profile's meta and --stats. */

/* True for a lost sample, false for an event about a process or a mapping. */
bool loss_is_sample(enum lost_cause cause);
/* Returns the number of lost samples, or events, over all causes with known numbers. */
uint64_t losses_count(const struct profile_stats *stats, bool samples);
/* True if no sample of any event and no event about a process or a mapping was lost. */
bool losses_are_none(const struct profile *p);
/* Appends "ring-full 12, stack 3": the causes that occurred. */
void losses_describe(const struct profile_stats *stats, bool samples, struct strbuf *out);
