/* SPDX-License-Identifier: MIT */
/* The parts of a running recording, for the files of the pipeline. */
#ifndef PROF_CMD_RUN_PIPELINE_INTERNAL_H
#define PROF_CMD_RUN_PIPELINE_INTERNAL_H

#include "cmd/run/flight.h"
#include "cmd/run/iterations.h"
#include "cmd/run/pipeline_finish.h"
#include "cmd/run/pipeline.h"
#include "cmd/elevate/elevate_signals.h"
#include "lib/recording/recording.h"
#include "lib/recording/spool.h"
#include "cmd/run/steering.h"
#include "cmd/run/supervisor.h"
#include "cmd/run/windows.h"
#include "cmd/text/progress.h"
#include "lib/format/format.h"
#include "lib/live/machine/child.h"
#include "lib/live/recorder.h"

/* Part of the finishing that a thread does, because files need not answer. */
struct pipeline_part {
	void (*run)(struct pipeline *p);
	enum progress_phase phase;
	bool is_last; /* a further signal gives it up */
	unsigned int signals; /* number of them when it began */
};

/* On the heap: it stays as long as the process if threads are left behind. */
struct pipeline {
	/* Copies, with the name of the output. */
	struct pipeline_options own_options;
	struct output_options own_output;
	char *path;
	const struct pipeline_options *options; /* those */
	struct identity owner; /* the invoking user */
	struct outputs outputs;
	struct progress progress;
	struct signals signals;
	struct supervisor supervisor;
	struct steering steering;
	struct flight flight;
	struct windows windows;
	struct overhead overhead;
	struct preload preload; /* of the command */
	struct child *child; /* the one that runs; of several runs, borrowed */
	struct iterations iterations;
	struct recorder *recorder;
	struct recording recording; /* has no session with --raw */
	struct spool spool;
	struct export_counts counts;
	int status; /* status of prof's own failures after the command ran; 0: none */
	struct pipeline_part part;
	struct error part_err; /* of that */
	bool is_cancelled; /* atomically: the profile is not wanted any more */
	uint64_t drain_ns, write_ns; /* time that these took */
};

/* Prepares everything; the command has not been executed yet. */
int pipeline_prepare(struct pipeline *p, struct error *err);
/* Records the command that is executed next, unless it is a run to warm up. */
int pipeline_track_child(struct pipeline *p, struct error *err);
/* Runs from the last record to the finished files. */
int pipeline_finish(struct pipeline *p, struct error *err);
/*
 * Runs a part of the finishing in a thread. False: it was given up, as it made no progress for
 * so long (0: as long as it takes), or by a signal.
 */
bool pipeline_run_apart(struct pipeline *p, const struct pipeline_part *part, uint64_t stall_ns);
/* Reports that there is no profile, and where its data is. Returns the exit status. */
int pipeline_fail(struct pipeline *p, struct error *err);
/* The path from the root, which the caller frees; NULL: it is standard output. */
char *absolute_path(const char *path);
/* Prof's exit status, once the command has ended. */
int pipeline_exit_status(const struct pipeline *p);

#endif
