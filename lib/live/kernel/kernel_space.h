/* SPDX-License-Identifier: MIT */
/*
 * Sends the kernel's own code, the image and code outside of modules, as module and mapping
 * records.
 */
#pragma once

#include "lib/live/process/module_registry.h"

/* Kernel symbols for sampled addresses, looked up by the kernel. */

struct programs;

/* A parsed kernel symbol; strings point into the parsed text. */
struct kernel_symbol_text {
	uint64_t start, size;
	const char *name;
	size_t name_size;
	const char *module; /* "[ext4]", NUL-terminated; NULL: the kernel image */
};

/* *symbol is valid during the call only. */
typedef void kernel_symbol_fn(void *ctx, const struct kernel_symbol_text *symbol);

/* Parses `text`, the kernel's "name+0x12/0x34 [module]" for `addr`. False if it is not a symbol. */
bool kernel_symbol_parse(struct kernel_symbol_text *symbol, uint64_t addr, const char *text);
/* See recorder_find_symbols(). */
bool kernel_symbols_find(struct programs *programs, const uint64_t *addrs, size_t count,
			 kernel_symbol_fn *fn, void *ctx);

/*
 * Sends code that the kernel generates (BPF programs, trampolines) as module and mapping records.
 * Each piece is a separate module whose path is the function's name, so it keeps its name even if
 * it is gone at the end or its address was reused.
 */

/*
 * Sends the loaded BPF programs that this process may see, as of `time`. They replace parts of
 * mappings sent before.
 */
void kernel_code_send_loaded(struct module_registry *modules, record_sink_fn *sink, void *ctx,
			     uint64_t time);
void kernel_code_send(struct module_registry *modules, record_sink_fn *sink, void *ctx,
		      const struct map_event *event);

/*
 * Sends the records, as of `time`; call before any sample. Returns false if addresses are hidden
 * (kernel.kptr_restrict); then only the catch-all mapping is sent, and kernel frames stay
 * addresses.
 */
bool kernel_space_send(struct module_registry *modules, record_sink_fn *sink, void *ctx,
		       uint64_t time);

/*
 * Finds base and build id of the running kernel by path: "[kernel.kallsyms]", or a module's, such
 * as "[ext4]". Also sets kind and path, which is borrowed. False if there is no such module, or its
 * addresses are hidden.
 */
bool kernel_space_find(const char *path, struct special_module *found);

/*
 * Returns the start of the kernel image, given (the first part of) the text of /proc/kallsyms; 0 if
 * hidden.
 */
uint64_t kernel_space_find_image(const char *kallsyms);
