/* SPDX-License-Identifier: MIT */
/*
 * Code that the kernel makes for itself at run time (BPF programs, trampolines), as module and
 * mapping records: each piece is a module of its own, whose path is the name of the function. So
 * it has its name also where it is gone by the end, or its place was used again.
 */
#ifndef PROF_LIB_LIVE_KERNEL_KERNEL_CODE_H
#define PROF_LIB_LIVE_KERNEL_KERNEL_CODE_H

#include "lib/live/process/module_registry.h"

/*
 * The BPF programs that are loaded, at that time; as far as this process may see them. They take
 * their places out of mappings that were sent before.
 */
void kernel_code_send_loaded(struct module_registry *modules, record_sink_fn *sink, void *ctx,
			     uint64_t time);
/* What a MAP_EVENT_CODE tells. */
void kernel_code_send(struct module_registry *modules, record_sink_fn *sink, void *ctx,
		      const struct map_event *event);

#endif
