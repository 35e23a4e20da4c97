/* SPDX-License-Identifier: MIT */
/* The modules that the kernel has loaded, as records. */
#ifndef PROF_LIB_LIVE_KERNEL_MODULES_H
#define PROF_LIB_LIVE_KERNEL_MODULES_H

#include <stdbool.h>

#include "lib/live/modules.h"

#define KERNEL_MODULES_LIST "/proc/modules"
#define KERNEL_MODULES_MAX ((size_t)4 << 20)
#define KERNEL_MODULES_DIR "/sys/module"

struct kernel_modules_options {
	struct module_registry *registry;
	record_sink_fn *sink;
	void *ctx;
	const char *dir; /* KERNEL_MODULES_DIR, but in tests */
};

struct kernel_modules;

struct kernel_modules *kernel_modules_new(const struct kernel_modules_options *options);
/* NULL is fine. */
void kernel_modules_free(struct kernel_modules *k);
/*
 * Sends those of a text as /proc/modules has it (NULL: none), at that time, each with its mapping.
 * Where addresses are hidden (kernel.kptr_restrict) there are none.
 */
void kernel_modules_send_list(struct kernel_modules *k, const char *text, uint64_t time);
/*
 * That address has occurred: what only sysfs knows of the module around it, and what costs too much
 * to be read for each module, is sent the first time, as records of that time.
 */
void kernel_modules_saw(struct kernel_modules *k, uint64_t addr, uint64_t time);
/* The same of all kernel addresses of a sample or a stack. */
void kernel_modules_saw_record(struct kernel_modules *k, const struct rec *rec, uint64_t time);

/*
 * Base and build id of the running kernel's "[ext4]"; kind and path, which is borrowed, are set,
 * too. False where it has no such module, or hides its address.
 */
bool kernel_modules_find(const char *path, struct special_module *found);

#endif
