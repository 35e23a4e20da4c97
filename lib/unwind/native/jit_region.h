/* SPDX-License-Identifier: MIT */
/* One region of JIT_REGION_SIZE: which rule holds from where on. */
#ifndef PROF_LIB_UNWIND_NATIVE_JIT_REGION_H
#define PROF_LIB_UNWIND_NATIVE_JIT_REGION_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/vec.h"
#include "lib/unwind/native/jit_tables.h"

/* From that offset in the region on the rule holds. */
struct jit_rule {
	uint16_t offset, rule;
};

struct jit_region {
	uint32_t holders; /* processes; while there are several it does not change */
	bool is_stale; /* `piece` is older */
	uint64_t start; /* address, a multiple of JIT_REGION_SIZE */
	VEC(struct jit_rule) rules; /* ascending, the first at 0; no two alike in a row */
	struct shard_piece piece; /* what the walker has; words 0: nothing */
};

struct jit_region *jit_region_new(uint64_t start);
/* For one holder, and not in the shards. */
struct jit_region *jit_region_copy(const struct jit_region *region);
void jit_region_free(struct jit_region *region);
/* Bytes that it takes here. */
uint64_t jit_region_bytes(const struct jit_region *region);
/*
 * In [from, to), `count` rules, ascending, in place of what was there: the first begins at `from`.
 * False where they would be too many: then there are none in that range.
 */
bool jit_region_set(struct jit_region *region, uint32_t from, uint32_t to,
		    const struct jit_rule *rules, size_t count);
/* Words of the table that jit_region_write() makes. */
uint32_t jit_region_words(const struct jit_region *region);
void jit_region_write(const struct jit_region *region, uint32_t *words);
/* How the walker is led to it. */
void jit_region_describe(const struct jit_region *region, struct unwind_mapping *m);

#endif
