/* SPDX-License-Identifier: MIT */
/* Sends the kernel's loaded modules as records. */
#pragma once

#include "bpf/live_record.h"
#include "lib/live/process/module_registry.h"

/* Reads the build id of the running kernel or of a module from sysfs. */

/* Reads the build id from a file of ELF notes. Leaves *module unchanged if it has none. */
void kernel_notes_read_build_id(const char *path, struct special_module *module);

#define KERNEL_MODULES_LIST "/proc/modules"
#define KERNEL_MODULES_MAX ((size_t)4 << 20)
#define KERNEL_MODULES_DIR "/sys/module"

struct kernel_modules_options {
	struct module_registry *registry;
	record_sink_fn *sink;
	void *ctx;
	const char *dir; /* KERNEL_MODULES_DIR, except in tests */
	/*
	 * Returns the kernel's current text for an address, in the form parsed by
	 * kernel_symbol_parse(), valid until the next call; NULL if there is none. The function
	 * pointer may be NULL.
	 */
	const char *(*find_symbol)(void *ctx, uint64_t addr);
	void *find_ctx;
};

struct kernel_modules;

struct kernel_modules *kernel_modules_new(const struct kernel_modules_options *options);
/* Accepts NULL. */
void kernel_modules_free(struct kernel_modules *k);
/*
 * Sends the modules in the text of /proc/modules (NULL: none), as of `time`, each with its mapping.
 * Sends none if addresses are hidden (kernel.kptr_restrict).
 */
void kernel_modules_send_list(struct kernel_modules *k, const char *text, uint64_t time);
/* Sends a module loaded later. Does nothing if it was already listed. */
void kernel_modules_send_new(struct kernel_modules *k, const struct rec_loaded *loaded);
/*
 * Notes a sampled address, and sends data that would be too expensive to read for all modules, as
 * records with `time`: once per module the locations of its sections, once per function its name,
 * which is lost when the module is unloaded.
 */
void kernel_modules_observe(struct kernel_modules *k, uint64_t addr, uint64_t time);
/* The same for all kernel addresses of a sample or stack. */
void kernel_modules_observe_record(struct kernel_modules *k, const struct rec *rec, uint64_t time);

/*
 * Finds base and build id of a module of the running kernel by its path, "[ext4]". Also sets kind
 * and path, which is borrowed. Returns false if there is no such module, or its address is hidden.
 */
bool kernel_modules_find(const char *path, struct special_module *found);
