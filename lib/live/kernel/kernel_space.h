/* SPDX-License-Identifier: MIT */
/*
 * Sends the kernel's own code, the image and code outside modules, as module and mapping records.
 */
#ifndef PROF_LIB_LIVE_KERNEL_KERNEL_SPACE_H
#define PROF_LIB_LIVE_KERNEL_KERNEL_SPACE_H

#include <stdbool.h>

#include "lib/live/process/module_registry.h"

/*
 * Sends the records, as of `time`; call before any sample. If addresses are hidden
 * (kernel.kptr_restrict), sends only the catch-all mapping, and kernel frames stay addresses:
 * false.
 */
bool kernel_space_send(struct module_registry *modules, record_sink_fn *sink, void *ctx,
		       uint64_t time);

/*
 * Finds base and build id of the running kernel by path: "[kernel.kallsyms]", or a module's, such
 * as "[ext4]". Also sets kind and path, which is borrowed. False: no such module, or its addresses
 * are hidden.
 */
bool kernel_space_find(const char *path, struct special_module *found);

/*
 * Returns the start of the kernel image by the (first part of the) text of /proc/kallsyms; 0:
 * hidden.
 */
uint64_t kernel_space_find_image(const char *kallsyms);

#endif
