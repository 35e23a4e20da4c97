/* SPDX-License-Identifier: MIT */
/* Queue of records for the reader. */
#pragma once

#include "bpf/record.h"
#include "lib/base/vec.h"

/* Zeroed is empty. */
struct perf_out {
	VEC(uint64_t) words;
	size_t at; /* number of words read */
};

/*
 * Appends a zeroed record of `size` bytes, rounded up to 8, with its common part set. Valid until
 * the next one is added.
 */
void *perf_out_add(struct perf_out *o, unsigned int kind, size_t size, uint64_t time, uint32_t pid,
		   uint32_t tid);
/* Appends a copy of a record. */
void perf_out_copy(struct perf_out *o, const struct rec *rec);
/* Returns the next record, valid until another is added; NULL: none. */
const struct rec *perf_out_next(struct perf_out *o);
