/* SPDX-License-Identifier: MIT */
/*
 * Files that processes have mapped in common, while many processes are looked at in one go: each is
 * opened once. Device and inode alone are no identity on overlays; with the path, and seen from the
 * same root and mounts, they are.
 */
#ifndef PROF_LIB_LIVE_PROCESS_IDENTITY_CACHE_H
#define PROF_LIB_LIVE_PROCESS_IDENTITY_CACHE_H

#include <stdint.h>

#include "lib/base/index.h"
#include "lib/base/strbuf.h"
#include "lib/base/vec.h"
#include "lib/live/process/module_registry.h"

/* From where a process sees paths; all zero: unknown. */
struct scan_view {
	uint64_t root_device, root_inode, mounts;
};

struct scan_file {
	struct scan_view view;
	uint64_t inode;
	uint32_t device_major, device_minor;
	size_t path; /* in `paths` */
	uint32_t module_id;
};

/* A zeroed struct is an empty cache. Not for long: files may be replaced. */
struct identity_cache {
	VEC(struct scan_file) rows;
	struct index index;
	struct strbuf paths;
};

void identity_cache_release(struct identity_cache *c);
struct scan_view scan_view_of(uint32_t pid);
/* As module_registry_resolve() for a mapping of a process with this view. */
uint32_t identity_cache_resolve(struct identity_cache *c, struct module_registry *modules,
				const struct scan_view *view, const struct map_event *event);

#endif
