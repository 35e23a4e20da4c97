/* SPDX-License-Identifier: MIT */
/* What runs already when recording begins: threads, names and mappings from /proc, as records. */
#ifndef PROF_LIB_LIVE_PROC_SCAN_H
#define PROF_LIB_LIVE_PROC_SCAN_H

#include "lib/base/error.h"
#include "lib/live/modules.h"

/*
 * Sends name records (NAME_SCAN) for every thread of the process, then its executable mappings, all
 * with that time. -ESRCH where there is no such process (any more).
 */
int proc_scan(struct module_registry *modules, record_sink_fn *sink, void *ctx, uint32_t pid,
	      uint64_t time, struct error *err);

#endif
