/* SPDX-License-Identifier: MIT */
/*
 * Caches files that several processes map, while many processes are scanned at once: each file is
 * opened once. Device and inode do not identify a file on overlays; together with the path, the
 * root and the mounts they do.
 */
#ifndef PROF_LIB_LIVE_PROCESS_IDENTITY_CACHE_H
#define PROF_LIB_LIVE_PROCESS_IDENTITY_CACHE_H

#include <stdint.h>

#include "lib/base/index.h"
#include "lib/base/strbuf.h"
#include "lib/base/vec.h"
#include "lib/live/process/module_registry.h"

/* The root and mounts by which a process resolves paths; all zero: unknown. */
struct scan_view {
	uint64_t root_device, root_inode, mounts;
};

struct scan_file {
	struct scan_view view;
	uint64_t inode;
	uint32_t device_major, device_minor;
	size_t path; /* position in `paths` */
	uint32_t module_id;
};

/* A zeroed struct is an empty cache. Keep it for a short time only: files may be replaced. */
struct identity_cache {
	VEC(struct scan_file) rows;
	struct index index;
	struct strbuf paths;
};

void identity_cache_release(struct identity_cache *c);
struct scan_view scan_view_of(uint32_t pid);
/* Same as module_registry_resolve(), for a mapping of a process with this view. */
uint32_t identity_cache_resolve(struct identity_cache *c, struct module_registry *modules,
				const struct scan_view *view, const struct map_event *event);

#endif
