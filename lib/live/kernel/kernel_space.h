/* SPDX-License-Identifier: MIT */
/* The kernel's own code as module and mapping records: the image, and what is no module's. */
#ifndef PROF_LIB_LIVE_KERNEL_KERNEL_SPACE_H
#define PROF_LIB_LIVE_KERNEL_KERNEL_SPACE_H

#include <stdbool.h>

#include "lib/live/process/module_registry.h"

/*
 * Sends them at that time, before any sample. Where addresses are hidden (kernel.kptr_restrict)
 * only the catch-all mapping is sent, and kernel frames stay addresses: false.
 */
bool kernel_space_send(struct module_registry *modules, record_sink_fn *sink, void *ctx,
		       uint64_t time);

/*
 * Base and build id of the running kernel's "[kernel.kallsyms]", or "[ext4]" as other modules are
 * called; kind and path, which is borrowed, are set, too. False where it has no such module, or
 * hides its addresses.
 */
bool kernel_space_find(const char *path, struct special_module *found);

/* Where the kernel image begins, from the (first part of the) text of /proc/kallsyms; 0: hidden. */
uint64_t kernel_space_find_image(const char *kallsyms);

#endif
