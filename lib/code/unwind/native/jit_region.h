/* SPDX-License-Identifier: MIT */
/* A region of JIT_REGION_SIZE bytes of code and its unwind rules. */
#ifndef PROF_LIB_CODE_UNWIND_NATIVE_JIT_REGION_H
#define PROF_LIB_CODE_UNWIND_NATIVE_JIT_REGION_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/vec.h"
#include "lib/code/unwind/native/jit_tables.h"

/* The rule holds from this offset in the region on. */
struct jit_rule {
	uint16_t offset, rule;
};

struct jit_region {
	uint32_t holders; /* processes; immutable while there are several */
	bool is_stale; /* `piece` is out of date */
	uint64_t start; /* address, a multiple of JIT_REGION_SIZE */
	VEC(struct jit_rule) rules; /* ascending, the first at 0; neighbours differ */
	struct shard_piece piece; /* the table in the shards; words 0: none */
};

struct jit_region *jit_region_new(uint64_t start);
/* Copies a region, for one holder and not in the shards. */
struct jit_region *jit_region_copy(const struct jit_region *region);
void jit_region_free(struct jit_region *region);
/* Bytes of memory in this process. */
uint64_t jit_region_bytes(const struct jit_region *region);
/*
 * Replaces the rules in [from, to) by `count` rules, ascending, the first at `from`. If that makes
 * too many, the range is left without rules and the result is false.
 */
bool jit_region_set(struct jit_region *region, uint32_t from, uint32_t to,
		    const struct jit_rule *rules, size_t count);
/* Words of the table that jit_region_write() makes. */
uint32_t jit_region_words(const struct jit_region *region);
void jit_region_write(const struct jit_region *region, uint32_t *words);
/* Sets the fields of *m that lead the walker to the region's table. */
void jit_region_describe(const struct jit_region *region, struct unwind_mapping *m);

#endif
