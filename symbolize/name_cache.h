/* SPDX-License-Identifier: MIT */
/*
 * Names of addresses in files, kept from one profile to the next: by the file that gave them, and
 * its build id. Names that no profile asks for go first.
 */
#ifndef PROF_SYMBOLIZE_NAME_CACHE_H
#define PROF_SYMBOLIZE_NAME_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "symbolize/symbolizer.h"

struct name_cache;

/* Bytes, about. */
struct name_cache *name_cache_new(size_t bytes);
void name_cache_free(struct name_cache *c);
/* Begins a profile: may free what was found before. Nobody else may use it meanwhile. */
void name_cache_begin(struct name_cache *c);
/*
 * Identifies a module's file. Returns 0 if its names cannot be kept: there is no file or build id,
 * or the kernel has them.
 */
uint64_t name_cache_module(const struct symbolizer_input *input);

/* Any thread may call these. Finds an answer, whose texts stay until the next profile. */
bool name_cache_find(struct name_cache *c, uint64_t module, uint64_t rva, struct answer *answer);
/* Copies it; "nothing is known" is an answer, too. */
void name_cache_add(struct name_cache *c, uint64_t module, uint64_t rva,
		    const struct answer *answer);
/* Keeps what became of the module's file; the path of its debug file may be NULL. */
void name_cache_add_outcome(struct name_cache *c, uint64_t module, enum symbol_reason reason,
			    const char *debug_path);
bool name_cache_find_outcome(struct name_cache *c, uint64_t module, enum symbol_reason *reason,
			     const char **debug_path);

#endif
