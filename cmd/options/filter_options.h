/* SPDX-License-Identifier: MIT */
/*
 * Options that say which tasks are recorded. What the machine has to be asked for is only collected
 * while options are read, so that a wrong command line is wrong on every machine.
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
	VEC(struct filter_choice) choices; /* in order */
	struct name_set names; /* of OPT_COMM */
	char *names_text; /* for messages; NULL: there are none */
	bool is_limited; /* to some processes or threads */
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
};

/* clang-format off */
/* For every recording. */
#define FILTER_LONG_OPTIONS \
	{"thread", required_argument, NULL, OPT_THREAD}, \
	{"cpu", required_argument, NULL, OPT_CPU}
/* For one of the whole machine. */
#define SYSTEM_LONG_OPTIONS \
	{"pid", required_argument, NULL, 'p'}, \
	{"tid", required_argument, NULL, OPT_TID}, \
	{"comm", required_argument, NULL, OPT_COMM}, \
	{"cgroup", required_argument, NULL, OPT_CGROUP}, \
	{"uid", required_argument, NULL, OPT_UID}, \
	{"exclude-self", no_argument, NULL, OPT_EXCLUDE_SELF}, \
	{"include-self", no_argument, NULL, OPT_INCLUDE_SELF}
/* For processes that run already. */
#define TARGET_LONG_OPTIONS \
	{"pid", required_argument, NULL, 'p'}, \
	{"comm", required_argument, NULL, OPT_COMM}, \
	{"pidfile", required_argument, NULL, OPT_PIDFILE}, \
	{"no-children", no_argument, NULL, OPT_NO_CHILDREN}
/* clang-format on */

extern const char filter_options_help[], system_options_help[], target_options_help[];

void filter_options_release(struct filter_options *o);
/* 0, -EINVAL with err where the value is wrong, -ENOENT where `opt` is none of these. */
int filter_options_set(struct filter_options *o, int opt, const char *value, struct error *err);
/*
 * Asks the machine for what was named. Where `targets` is not NULL, processes are added to those,
 * and are no filter.
 */
int filter_options_resolve(struct filter_options *o, struct targets *targets, struct error *err);
/* Describes what of the machine is recorded; caller frees. */
char *filter_options_describe(const struct filter_options *o);

#endif
