/* SPDX-License-Identifier: MIT */
/*
 * Options that select the tasks to record. Parsing only collects them, so that a wrong command line
 * is wrong on every machine; resolving asks the machine.
 */
#ifndef PROF_CMD_OPTIONS_FILTER_OPTIONS_H
#define PROF_CMD_OPTIONS_FILTER_OPTIONS_H

#include "cmd/options/output_options.h"
#include "lib/base/error.h"
#include "lib/base/vec.h"
#include "lib/live/process/filter.h"
#include "lib/live/process/targets.h"

/* An option with its value, borrowed. */
struct filter_choice {
	int opt;
	const char *value;
};

struct filter_options {
	struct filter filter;
	VEC(struct filter_choice) choices; /* in order of the command line */
	struct name_set names; /* patterns of OPT_COMM */
	char *names_text; /* for messages; NULL: no names */
	bool is_limited; /* only some processes or threads are recorded */
};

enum {
	OPT_NO_CHILDREN = OPT_OUTPUT_END,
	OPT_COMM,
	OPT_PIDFILE,
	OPT_TID,
	OPT_CGROUP,
	OPT_UID,
	OPT_CPU,
	OPT_THREAD,
	OPT_INCLUDE_SELF,
	OPT_EXCLUDE_SELF,
	OPT_FILTER_END,
};

/* clang-format off */
/* Options for every recording. */
#define FILTER_LONG_OPTIONS \
	{"thread", required_argument, NULL, OPT_THREAD}, \
	{"cpu", required_argument, NULL, OPT_CPU}
/* Options for a recording of the whole machine. */
#define SYSTEM_LONG_OPTIONS \
	{"pid", required_argument, NULL, 'p'}, \
	{"tid", required_argument, NULL, OPT_TID}, \
	{"comm", required_argument, NULL, OPT_COMM}, \
	{"cgroup", required_argument, NULL, OPT_CGROUP}, \
	{"uid", required_argument, NULL, OPT_UID}, \
	{"exclude-self", no_argument, NULL, OPT_EXCLUDE_SELF}, \
	{"include-self", no_argument, NULL, OPT_INCLUDE_SELF}
/* Options that select running processes. */
#define TARGET_LONG_OPTIONS \
	{"pid", required_argument, NULL, 'p'}, \
	{"comm", required_argument, NULL, OPT_COMM}, \
	{"pidfile", required_argument, NULL, OPT_PIDFILE}, \
	{"no-children", no_argument, NULL, OPT_NO_CHILDREN}
/* clang-format on */

extern const char filter_options_help[], system_options_help[], target_options_help[];

void filter_options_release(struct filter_options *o);
/* Returns 0, -EINVAL with err if the value is wrong, -ENOENT if `opt` is not a filter option. */
int filter_options_set(struct filter_options *o, int opt, const char *value, struct error *err);
/*
 * Looks up on this machine everything the options name. If `targets` is not NULL, processes are
 * added there instead of to the filter.
 */
int filter_options_resolve(struct filter_options *o, struct targets *targets, struct error *err);
/* Describes the recorded part of the machine; the caller frees. */
char *filter_options_describe(const struct filter_options *o);

#endif
