/* SPDX-License-Identifier: MIT */
/* The parts of a recording that is going on, for the files of the pipeline. */
#ifndef PROF_CMD_RUN_PIPELINE_INTERNAL_H
#define PROF_CMD_RUN_PIPELINE_INTERNAL_H

#include "cmd/run/iterations.h"
#include "cmd/run/outputs.h"
#include "cmd/run/pipeline.h"
#include "cmd/elevate/signals.h"
#include "lib/recording/recording.h"
#include "lib/recording/spool.h"
#include "cmd/run/steering.h"
#include "cmd/run/supervisor.h"
#include "cmd/text/progress.h"
#include "lib/format/format.h"
#include "lib/live/machine/child.h"
#include "lib/live/recorder.h"

struct pipeline {
	const struct pipeline_options *options;
	struct identity owner; /* the invoking user */
	struct outputs outputs;
	struct progress progress;
	struct signals signals;
	struct supervisor supervisor;
	struct steering steering;
	struct child *child; /* the one that runs; of several runs, borrowed */
	struct iterations iterations;
	struct recorder *recorder;
	struct recording recording; /* has no session with --raw */
	struct spool spool;
	struct export_counts counts;
	int status; /* status of prof's own failures after the command ran; 0: none */
};

/* Runs from the last record to the finished files. */
int pipeline_finish(struct pipeline *p, struct error *err);
/* Finishes the spool because there is no profile, unless that was done. */
void pipeline_keep_spool(struct pipeline *p);
/* The path from the root, which the caller frees; NULL: it is standard output. */
char *absolute_path(const char *path);
/* Prof's exit status, once the command has ended. */
int pipeline_exit_status(const struct pipeline *p);

#endif
