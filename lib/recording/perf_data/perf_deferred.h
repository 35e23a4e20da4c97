/* SPDX-License-Identifier: MIT */
/*
 * Deferred call chains: the kernel captures the user side of a sample when the thread returns to
 * user mode, and writes it as a separate record, for all samples since.
 */
#pragma once

#include "lib/recording/perf_data/perf_attrs.h"
#include "lib/recording/perf_data/perf_file.h"

/* Missing in the headers of older kernels. */
#define PERF_RECORD_CALLCHAIN_DEFERRED 22
/*
 * Marker in a chain: a cookie follows, and the chain of the record with that cookie belongs here.
 */
#define PERF_CONTEXT_USER_DEFERRED ((uint64_t)-640)

struct perf_deferred_row {
	uint32_t sample, record; /* rows of the file's store */
};

/* Zeroed is empty. */
struct perf_deferred {
	VEC(struct perf_deferred_row) rows; /* ascending by sample */
};

/* Finds the record of each sample that waits for one. */
void perf_deferred_find(struct perf_deferred *d, const struct perf_file *file);
/* Assigns a sample, by its row of the store, the chain of its record. */
void perf_deferred_set(const struct perf_deferred *d, const struct perf_file *file, size_t row,
		       struct perf_sample *sample);
