/* SPDX-License-Identifier: MIT */
/* Finds the processes that exist when recording begins: their names and mappings. */
#ifndef PROF_LIB_LIVE_PROC_WALK_H
#define PROF_LIB_LIVE_PROC_WALK_H

#include "lib/base/error.h"
#include "lib/live/process/filter.h"
#include "lib/live/process/module_registry.h"
#include "lib/live/bpf/programs.h"
#include "lib/live/tracker.h"

/* All members are borrowed. */
struct proc_walk {
	struct programs *programs;
	struct tracker *tracker;
	const struct filter *filter;
	bool no_arguments; /* do not send their arguments */
	record_sink_fn *sink;
	void *ctx;
};

/* Enters them into filter and tracker, and sends their names. */
int proc_walk_run(const struct proc_walk *scan, struct error *err);

#endif
