/* SPDX-License-Identifier: MIT */
/*
 * Reports the name and mappings that a process has when recording begins, from /proc, as records
 * with that time.
 */
#ifndef PROF_LIB_LIVE_PROCESS_MAPS_WALK_H
#define PROF_LIB_LIVE_PROCESS_MAPS_WALK_H

#include "lib/base/error.h"
#include "lib/live/process/module_registry.h"
#include "lib/live/process/identity_cache.h"

/*
 * Sends a name record of the main thread (NAME_SCAN, and `flags` with the result of the filters).
 * -ESRCH: the process does not exist or has ended.
 */
int proc_walk_name(record_sink_fn *sink, void *ctx, uint32_t pid, uint8_t flags, uint64_t time,
		   struct error *err);
/*
 * Sends the executable mappings; files in the cache are not opened again. -ENOENT or -ESRCH: the
 * process does not exist or has ended; -EACCES: its mappings must not be read.
 */
int proc_walk_maps(struct module_registry *modules, struct identity_cache *cache,
		   record_sink_fn *sink, void *ctx, uint32_t pid, uint64_t time, struct error *err);

#endif
