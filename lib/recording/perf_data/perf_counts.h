/* SPDX-License-Identifier: MIT */
/* Last values of the counters in samples (PERF_SAMPLE_READ). */
#pragma once

#include <stdint.h>

#include "lib/base/index.h"
#include "lib/base/vec.h"

struct perf_count {
	uint64_t id; /* id of the event on its CPU or thread */
	uint32_t tid; /* thread of the counter; 0: not per thread */
	uint64_t value;
};

/* Zeroed is empty. */
struct perf_counts {
	VEC(struct perf_count) rows;
	struct index by_id;
};

void perf_counts_release(struct perf_counts *c);
/* Returns the increase of the counter since its last value, and stores this one. */
uint64_t perf_counts_increase(struct perf_counts *c, uint64_t id, uint32_t tid, uint64_t value);
