/* SPDX-License-Identifier: MIT */
/*
 * Sends code that the kernel generates (BPF programs, trampolines) as module and mapping records.
 * Each piece is a module of its own whose path is the function's name, so it keeps its name even if
 * it is gone at the end or its place was reused.
 */
#ifndef PROF_LIB_LIVE_KERNEL_KERNEL_CODE_H
#define PROF_LIB_LIVE_KERNEL_KERNEL_CODE_H

#include "lib/live/process/module_registry.h"

/*
 * Sends the loaded BPF programs that this process may see, as of `time`. They replace parts of
 * mappings sent before.
 */
void kernel_code_send_loaded(struct module_registry *modules, record_sink_fn *sink, void *ctx,
			     uint64_t time);
/* Sends the code of a MAP_EVENT_CODE. */
void kernel_code_send(struct module_registry *modules, record_sink_fn *sink, void *ctx,
		      const struct map_event *event);

#endif
