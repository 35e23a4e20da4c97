/* SPDX-License-Identifier: MIT */
/* What a process has already when recording begins, from /proc, as records with that time. */
#ifndef PROF_LIB_LIVE_PROCESS_MAPS_WALK_H
#define PROF_LIB_LIVE_PROCESS_MAPS_WALK_H

#include "lib/base/error.h"
#include "lib/live/process/module_registry.h"
#include "lib/live/process/identity_cache.h"

/*
 * A name record (NAME_SCAN, and `flags` of what the filters say) of the main thread. -ESRCH: there
 * is no such process (any more).
 */
int proc_walk_name(record_sink_fn *sink, void *ctx, uint32_t pid, uint8_t flags, uint64_t time,
		   struct error *err);
/* The executable mappings; files that the cache has are not opened again. -ENOENT or -ESRCH:
 * likewise; -EACCES: they must not be read. */
int proc_walk_maps(struct module_registry *modules, struct identity_cache *cache,
		   record_sink_fn *sink, void *ctx, uint32_t pid, uint64_t time, struct error *err);

#endif
