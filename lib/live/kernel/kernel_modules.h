/* SPDX-License-Identifier: MIT */
/* The modules that the kernel has loaded, as records. */
#ifndef PROF_LIB_LIVE_KERNEL_KERNEL_MODULES_H
#define PROF_LIB_LIVE_KERNEL_KERNEL_MODULES_H

#include <stdbool.h>

#include "bpf/live_record.h"
#include "lib/live/process/module_registry.h"

#define KERNEL_MODULES_LIST "/proc/modules"
#define KERNEL_MODULES_MAX ((size_t)4 << 20)
#define KERNEL_MODULES_DIR "/sys/module"

struct kernel_modules_options {
	struct module_registry *registry;
	record_sink_fn *sink;
	void *ctx;
	const char *dir; /* KERNEL_MODULES_DIR, but in tests */
	/*
	 * What the kernel calls an address just now, as kernel_symbol_parse() reads it; valid until
	 * the next call. NULL: it does not say. It may be NULL itself.
	 */
	const char *(*find_symbol)(void *ctx, uint64_t addr);
	void *find_ctx;
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
/* One that is loaded later, when it is; without effect where a list had it already. */
void kernel_modules_send_new(struct kernel_modules *k, const struct rec_loaded *loaded);
/*
 * That address has occurred: what costs too much to be read of all modules is sent, as records of
 * that time. Once of each module where its sections are; once of each function its name, which
 * cannot be asked for any more when the module is gone.
 */
void kernel_modules_observe(struct kernel_modules *k, uint64_t addr, uint64_t time);
/* The same of all kernel addresses of a sample or a stack. */
void kernel_modules_observe_record(struct kernel_modules *k, const struct rec *rec, uint64_t time);

/*
 * Base and build id of the running kernel's "[ext4]"; kind and path, which is borrowed, are set,
 * too. False where it has no such module, or hides its address.
 */
bool kernel_modules_find(const char *path, struct special_module *found);

#endif
