/* SPDX-License-Identifier: MIT */
/* From the machine to the finished file: the only place that knows every room. */
#ifndef PROF_CMD_RUN_PIPELINE_H
#define PROF_CMD_RUN_PIPELINE_H

#include "cmd/options/live_options.h"
#include "cmd/options/output_options.h"
#include "lib/live/process/filter.h"
#include "lib/live/process/targets.h"

struct front_end;

struct pipeline_options {
	const char *command; /* "record", for messages */
	const struct live_options *live;
	const struct filter *filter; /* which tasks */
	const struct output_options *output;
	char *const *own_argv; /* prof's own, from the command on */
	const char *filter_text; /* without command and targets: what is recorded, in words */
	char *const *argv; /* what to run and record; NULL-terminated; NULL: nothing */
	struct front_end *front; /* who runs it, and gets the status; NULL: this process */
	struct targets *targets; /* what runs already and is to be recorded; NULL: nothing */
};

/* Records, writes, reports. Returns the exit status, and has said what failed. */
int pipeline_run(const struct pipeline_options *options);

#endif
