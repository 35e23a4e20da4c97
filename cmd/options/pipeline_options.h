/* SPDX-License-Identifier: MIT */
/* All settings of a recording. */
#ifndef PROF_CMD_OPTIONS_PIPELINE_OPTIONS_H
#define PROF_CMD_OPTIONS_PIPELINE_OPTIONS_H

#include "cmd/options/iteration_options.h"
#include "cmd/options/live_options.h"
#include "cmd/options/output_options.h"
#include "cmd/options/push_options.h"
#include "lib/live/process/filter.h"
#include "lib/live/process/targets.h"

struct caller;

struct pipeline_options {
	const char *command; /* "record", for messages */
	const struct live_options *live;
	const struct filter *filter; /* tasks to record */
	const struct output_options *output;
	const struct push_options *push; /* engines that get windows; NULL: none */
	char *const *own_argv; /* arguments of prof itself, from the command on */
	const char *filter_text; /* description of the filters; used without command and targets */
	char *const *argv; /* command to run and record; NULL-terminated; NULL: none */
	const struct iteration_options *iterations; /* NULL: the command runs once */
	struct caller *front; /* runs it and receives the status; NULL: this process */
	struct targets *targets; /* running processes to record; NULL: none */
};

#endif
