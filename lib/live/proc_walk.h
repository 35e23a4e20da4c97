/* SPDX-License-Identifier: MIT */
/* The processes that run already when recording begins: who they are, and what they have mapped. */
#ifndef PROF_LIB_LIVE_PROC_WALK_H
#define PROF_LIB_LIVE_PROC_WALK_H

#include "lib/base/error.h"
#include "lib/live/process/filter.h"
#include "lib/live/process/module_registry.h"
#include "lib/live/bpf/programs.h"
#include "lib/live/tracker.h"

/* All is borrowed. */
struct proc_walk {
	struct programs *programs;
	struct tracker *tracker;
	const struct filter *filter;
	bool no_arguments; /* what they were executed with is not told */
	record_sink_fn *sink;
	void *ctx;
};

/* Enters them into the filter and the tracker, and sends their names. */
int proc_walk_run(const struct proc_walk *scan, struct error *err);

#endif
