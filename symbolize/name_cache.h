/* SPDX-License-Identifier: MIT */
/*
 * Cache of names of addresses across profiles, keyed by the file that they come from and its build
 * id. Drops the least recently used names first.
 */
#pragma once

#include "symbolize/symbolizer.h"

struct name_cache;

/* `bytes` is an approximate limit. */
struct name_cache *name_cache_new(size_t bytes);
void name_cache_free(struct name_cache *c);
/* Begins a profile: may free earlier results, so no other thread may use the cache meanwhile. */
void name_cache_begin(struct name_cache *c);
/*
 * Returns a key for a module's file; 0 if its names cannot be cached: no file or build id, or names
 * from the kernel.
 */
uint64_t name_cache_module(const struct symbolizer_input *input);

/*
 * Finds an answer, whose strings live until the next profile. This and the following functions may
 * be called from any thread.
 */
bool name_cache_find(struct name_cache *c, uint64_t module, uint64_t rva, struct answer *answer);
/* Adds a copy of an answer, even an empty one. */
void name_cache_add(struct name_cache *c, uint64_t module, uint64_t rva,
		    const struct answer *answer);
/* Adds the outcome for the module's file; the path of its debug file may be NULL. */
void name_cache_add_outcome(struct name_cache *c, uint64_t module, enum symbol_reason reason,
			    const char *debug_path);
bool name_cache_find_outcome(struct name_cache *c, uint64_t module, enum symbol_reason *reason,
			     const char **debug_path);
