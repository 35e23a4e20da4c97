/* SPDX-License-Identifier: MIT */
/*
 * HotSpot, the virtual machine of OpenJDK, version 11 and later, on x86-64. Its library exports
 * tables of its structures for debuggers, which are filled in when the library is loaded.
 */
#pragma once

#include "lib/code/runtimes/runtime.h"

#define HOTSPOT_OLDEST 11

bool hotspot_late(const struct runtime_layout *layout, const struct rec_function *function,
		  runtime_read_fn *read, void *ctx, struct managed_code *code);

/* Reads memory of a process. */
struct hotspot_memory {
	runtime_read_fn *read;
	void *ctx;
};

bool hotspot_memory_read(struct hotspot_memory *m, uint64_t addr, void *to, size_t size);
bool hotspot_memory_word(struct hotspot_memory *m, uint64_t addr, void *word);
/* Reads 32 bits. */
bool hotspot_memory_int(struct hotspot_memory *m, uint64_t addr, uint32_t *value);

/* Returns true if all offsets lie within what the BPF program reads. */
bool hotspot_layout_is_sane(const struct hotspot_layout *layout);
/* See struct runtime's read_threads. */
void hotspot_threads(const struct runtime_layout *layout, uint64_t bias, uint64_t *kept,
		     runtime_read_fn *read, void *read_ctx, runtime_thread_fn *fn, void *ctx);
