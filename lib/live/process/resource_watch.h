/* SPDX-License-Identifier: MIT */
/* Attributes that processes give themselves in their environments, see lib/stream/process/resource.h. */
#ifndef PROF_LIB_LIVE_PROCESS_RESOURCE_WATCH_H
#define PROF_LIB_LIVE_PROCESS_RESOURCE_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/live/process/module_registry.h"

struct resource_watch {
	bool is_any_told; /* one was sent: from then on processes that say nothing are, too */
};

/*
 * Sends a REC_RESOURCE for the process as it is now. A process that has ended, or whose user could
 * not read its environment, keeps what its parent says.
 */
void resource_watch_send(struct resource_watch *w, uint32_t pid, uint64_t time,
			 record_sink_fn *sink, void *ctx);

#endif
