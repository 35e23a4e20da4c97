/* SPDX-License-Identifier: MIT */
/*
 * Options that select the tasks to record. Parsing is independent of the machine, so that a wrong
 * command line is rejected everywhere. Resolving looks names up.
 */
#pragma once

#include "cmd/options/option_table.h"
#include "lib/live/process/targets.h"

enum filter_kind {
	FILTER_BY_PID,
	FILTER_BY_TID,
	FILTER_BY_COMM,
	FILTER_BY_CGROUP,
	FILTER_BY_UID,
	FILTER_BY_CPU,
	FILTER_BY_THREAD,
	FILTER_BY_PIDFILE,
	FILTER_BY_NAME,
	FILTER_BY_UNIT,
	FILTER_BY_CONTAINER,
};

/* An option with its value, borrowed. */
struct filter_choice {
	enum filter_kind kind;
	const char *value;
};

struct filter_options {
	struct filter filter;
	VEC(struct filter_choice) choices; /* in command-line order */
	struct name_set names; /* patterns for --comm */
	char *names_text; /* names for messages; NULL: none */
	bool is_searched; /* some processes were found by other means than their pid */
	bool is_group; /* attached to a whole control group */
	bool is_limited; /* not all processes and threads are recorded */
};

/*
 * Options for every recording, and for one of the whole machine; values are stored in
 * filter_options.
 */
extern const struct option_row filter_options[], system_options[];
/* Options that select running processes. */
extern const struct option_row target_options[];
extern const struct option_rule target_rules[];

void filter_options_release(struct filter_options *o);
/*
 * Looks up everything the options name on this machine. If `targets` is not NULL, processes are
 * added there instead of to the filter.
 */
int filter_options_resolve(struct filter_options *o, struct targets *targets, struct error *err);
/* Discards the looked-up state, so that it can be resolved again. */
void filter_options_reset(struct filter_options *o);
/* Describes the recorded part of the machine; the caller frees. */
char *filter_options_describe(const struct filter_options *o);
