/* SPDX-License-Identifier: MIT */
/* All settings of a recording. */
#pragma once

#include "cmd/options/iteration_options.h"
#include "cmd/options/live_options.h"
#include "cmd/options/output_options.h"
#include "cmd/options/push_options.h"
#include "lib/live/process/filter.h"
#include "lib/live/process/targets.h"

struct caller;

struct pipeline_options {
	const char *command; /* name for messages, such as "record" */
	const struct live_options *live;
	const struct filter *filter; /* selection of tasks to record */
	const struct output_options *output;
	const struct push_options *push; /* engines that receive windows; NULL: none */
	char *const *own_argv; /* arguments of prof itself, beginning with the command */
	/* description of the filters, for recordings without command and targets */
	const char *filter_text;
	char *const *argv; /* command to run and record, NULL-terminated; NULL: none */
	const struct iteration_options *iterations; /* NULL: the command runs once */
	/* Process that runs the command and gets the status; NULL: prof itself. */
	struct caller *front;
	struct targets *targets; /* running processes to record; NULL: none */
};
