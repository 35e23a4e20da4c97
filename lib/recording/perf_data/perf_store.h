/* SPDX-License-Identifier: MIT */
/*
 * The kernel's records of a recording, sorted by time. Files have them by CPU and buffer; one sort
 * of all is cheaper than to follow the rounds in which they were written, and gives the same order.
 */
#ifndef PROF_LIB_RECORDING_PERF_DATA_PERF_STORE_H
#define PROF_LIB_RECORDING_PERF_DATA_PERF_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/radix.h"
#include "lib/base/vec.h"

/* Zeroed is empty. */
struct perf_store {
	VEC(uint8_t *) blocks; /* of PERF_BLOCK_SIZE; a record lies in one */
	size_t used; /* bytes of the last one */
	VEC(struct radix_row) order; /* by time; the value is the place, in units of 8 bytes */
};

#define PERF_BLOCK_SIZE ((size_t)4 << 20)
/* Places are 32 bits. */
#define PERF_STORE_MAX ((uint64_t)32 << 30)

void perf_store_release(struct perf_store *s);
/* Copies a record of at most 64 KiB. False: there is no room for more. */
bool perf_store_add(struct perf_store *s, uint64_t time, const void *record, size_t size);
/* Records of one time keep their order. */
void perf_store_sort(struct perf_store *s);

/* Returns record `i` in order, aligned to 8 bytes. */
static inline const void *perf_store_get(const struct perf_store *s, size_t i)
{
	const size_t per_block = PERF_BLOCK_SIZE / 8;
	uint32_t place = s->order.items[i].value;

	return s->blocks.items[place / per_block] + place % per_block * 8;
}

#endif
