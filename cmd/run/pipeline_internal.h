/* SPDX-License-Identifier: MIT */
/* The parts of a running recording, shared by the files of the pipeline. */
#pragma once

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

/* A step of finishing that runs in a thread, because file access may hang. */
struct pipeline_part {
	void (*run)(struct pipeline *p);
	enum progress_phase phase;
	bool is_last; /* a further signal abandons the part */
	unsigned int signals; /* number of signals received when the part began */
};

/* On the heap: if threads are left behind, it lives as long as the process. */
struct pipeline {
	/* Copies that contain the name of the output. */
	struct pipeline_options own_options;
	struct output_options own_output;
	char *path;
	const struct pipeline_options *options; /* points to own_options */
	struct identity owner; /* the invoking user */
	struct outputs outputs;
	struct progress progress;
	struct signals signals;
	struct supervisor supervisor;
	struct steering steering;
	struct flight flight;
	struct windows windows;
	struct overhead overhead;
	struct preload preload; /* library that the command loads */
	struct child *child; /* running command; borrowed if there are several runs */
	struct iterations iterations;
	struct recorder *recorder;
	struct recording recording; /* has no session for --raw */
	struct spool spool;
	struct export_counts counts;
	int status; /* exit status if prof fails after the command ran; 0: no failure */
	struct pipeline_part part;
	struct error part_err; /* error of `part` */
	bool lacked_memory; /* naming was cut short for lack of memory */
	bool is_cancelled; /* atomic: the profile is no longer wanted */
	uint64_t drain_ns, write_ns; /* duration of draining and writing */
};

/* Runs from the last record to the finished files. */
int pipeline_finish(struct pipeline *p, struct error *err);
/*
 * Runs a step of finishing in a thread. False if it was abandoned, by a signal or after this long
 * without progress (0: no limit).
 */
bool pipeline_run_apart(struct pipeline *p, const struct pipeline_part *part, uint64_t stall_ns);
/* Reports that there is no profile, and where its data is. Returns the exit status. */
int pipeline_fail(struct pipeline *p, struct error *err);
/* Returns the absolute path, which the caller frees; NULL: standard output. */
char *absolute_path(const char *path);
/* Returns prof's exit status after the command has ended. */
int pipeline_exit_status(const struct pipeline *p);
